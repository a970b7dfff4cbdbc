//! Prometheus' remote write by way of `prost`: not ours, so that it can judge what `rules` encodes by hand. Called by the
//! tests of that encoder and of the receivers that the program writes to. Not here: the snappy block around a request.

pub use prost::Message;

/// A request.
#[derive(Clone, PartialEq, Message)]
pub struct WriteRequest {
    /// Series with their samples.
    #[prost(message, repeated, tag = "1")]
    pub timeseries: Vec<TimeSeries>,
    /// What the metrics are.
    #[prost(message, repeated, tag = "3")]
    pub metadata: Vec<Metadata>,
}

/// A series.
#[derive(Clone, PartialEq, Message)]
pub struct TimeSeries {
    /// `__name__` among them.
    #[prost(message, repeated, tag = "1")]
    pub labels: Vec<Label>,
    /// In order of time.
    #[prost(message, repeated, tag = "2")]
    pub samples: Vec<Sample>,
}

/// A label.
#[derive(Clone, PartialEq, Message)]
pub struct Label {
    /// Its name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Its value.
    #[prost(string, tag = "2")]
    pub value: String,
}

/// A value at a time.
#[derive(Clone, PartialEq, Message)]
pub struct Sample {
    /// The value.
    #[prost(double, tag = "1")]
    pub value: f64,
    /// Milliseconds since 1970.
    #[prost(int64, tag = "2")]
    pub timestamp: i64,
}

/// What a metric is.
#[derive(Clone, PartialEq, Message)]
pub struct Metadata {
    /// 1 is a counter.
    #[prost(int32, tag = "1")]
    pub kind: i32,
    /// The metric's name.
    #[prost(string, tag = "2")]
    pub metric_family_name: String,
    /// A sentence.
    #[prost(string, tag = "4")]
    pub help: String,
    /// A word, such as `bytes`.
    #[prost(string, tag = "5")]
    pub unit: String,
}
