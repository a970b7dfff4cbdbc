//! Bodies of Prometheus's remote write, version 1: a protobuf message, compressed by snappy in its block form.
//!
//! ```text
//! WriteRequest { 1 timeseries: TimeSeries*, 3 metadata: MetricMetadata* }
//! TimeSeries { 1 labels: Label { 1 name, 2 value }*, 2 samples: Sample { 1 value: double, 2 timestamp: int64 ms }* }
//! MetricMetadata { 1 type (1 = counter), 2 metric_family_name, 4 help, 5 unit }
//! ```
//!
//! Hand-written: the message is small and only written. Not here: sending (`server`).

use crate::MetricSeries;

/// A series and its samples, oldest first, as ms since the epoch and value.
pub type WrittenSeries<'a> = (&'a MetricSeries, &'a [(i64, i128)]);

/// The body of one request, compressed.
///
/// # Errors
/// When it is larger than snappy's block form allows (4 GiB), which the limits on groups rule out.
pub fn body(series: &[WrittenSeries<'_>]) -> Result<Vec<u8>, snap::Error> {
    snap::raw::Encoder::new().compress_vec(&message(series))
}

fn message(series: &[WrittenSeries<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut part = Vec::new();
    let mut inner = Vec::new();
    for (one, samples) in series {
        part.clear();
        let name = ("__name__", one.metric.as_str());
        let others = one.labels.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let mut labels: Vec<(&str, &str)> = std::iter::once(name).chain(others).collect();
        // Receivers expect them sorted; capitals come before `__name__`.
        labels.sort_unstable();
        for (name, value) in labels {
            inner.clear();
            put_bytes(&mut inner, 1, name.as_bytes());
            put_bytes(&mut inner, 2, value.as_bytes());
            put_bytes(&mut part, 1, &inner);
        }
        for &(time, value) in *samples {
            inner.clear();
            inner.push(1 << 3 | 1);
            // The nearest double; exact below 2⁵³.
            inner.extend_from_slice(&(value as f64).to_le_bytes());
            inner.push(2 << 3);
            put_varint(&mut inner, time.cast_unsigned());
            put_bytes(&mut part, 2, &inner);
        }
        put_bytes(&mut out, 1, &part);
    }
    let mut last = "";
    for (one, _) in series {
        if one.metric == last {
            continue;
        }
        last = &one.metric;
        part.clear();
        part.extend_from_slice(&[1 << 3, 1]);
        put_bytes(&mut part, 2, one.metric.as_bytes());
        put_bytes(&mut part, 4, b"Sum over accepted profiles.");
        put_bytes(&mut part, 5, one.unit.as_bytes());
        put_bytes(&mut out, 3, &part);
    }
    out
}

fn put_bytes(out: &mut Vec<u8>, field: u8, bytes: &[u8]) {
    out.push(field << 3 | 2);
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
}

#[cfg(test)]
mod tests {
    use testkit::remote_write::{Message as _, WriteRequest};

    use super::*;

    #[test]
    fn another_encoder_reads_the_same() {
        let long = "x".repeat(300);
        let series = MetricSeries {
            metric: "m".into(),
            labels: vec![("Zone".into(), "z".into()), ("a".into(), long.clone())],
            unit: "bytes".into(),
            value: 0,
        };
        let samples = [(1_750_000_000_000, 0), (1_750_000_015_000, (1 << 53) - 1)];
        let body = body(&[(&series, &samples), (&series, &samples[..1])]).unwrap();
        let message = snap::raw::Decoder::new().decompress_vec(&body).unwrap();
        let read = WriteRequest::decode(&*message).unwrap();
        let labels: Vec<_> = read.timeseries[0]
            .labels
            .iter()
            .map(|label| (label.name.as_str(), label.value.as_str()))
            .collect();
        assert_eq!(labels, [("Zone", "z"), ("__name__", "m"), ("a", long.as_str())]);
        let points: Vec<_> =
            read.timeseries[0].samples.iter().map(|sample| (sample.timestamp, sample.value)).collect();
        assert_eq!(points, [(1_750_000_000_000, 0.0), (1_750_000_015_000, 9_007_199_254_740_991.0)]);
        assert_eq!(read.timeseries[1].samples.len(), 1);
        assert_eq!(read.metadata.len(), 1);
        assert_eq!((read.metadata[0].kind, read.metadata[0].unit.as_str()), (1, "bytes"));
    }
}
