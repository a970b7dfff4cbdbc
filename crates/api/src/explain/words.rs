//! What happened to a profile, in a word and a sentence for people.

use profile::AlteredReason;
use store::Outcome;

/// For what was accepted and cannot be found all the same.
pub(super) fn passed_over(outcome: Outcome) -> Option<(&'static str, &'static str)> {
    match outcome {
        Outcome::Stored => None,
        Outcome::Duplicate => Some(("duplicate", "the profile was here already, so nothing more was stored")),
        Outcome::Empty => Some(("empty", "the profile has no samples, so nothing was stored")),
        Outcome::Baseline => Some((
            "baseline",
            "the first cumulative profile of a series is only what later ones are compared with",
        )),
    }
}

/// What a change means, for people.
pub(super) fn sentence(reason: AlteredReason) -> &'static str {
    match reason {
        AlteredReason::ValueCountMismatch => {
            "samples with another number of values than there are sample types were left out"
        }
        AlteredReason::NegativeValue => {
            "negative values were left out; a difference says so with negative=keep"
        }
        AlteredReason::ZeroValue => "samples whose values are all zero were left out",
        AlteredReason::NoStack => "samples without a stack are kept under the frame (no stack)",
        AlteredReason::StackTooDeep => "stacks that are too deep lost frames at their root",
        AlteredReason::StringTooLong => "names that are too long lost their beginning",
        AlteredReason::InvalidUtf8 => "names that are no UTF-8 are kept as they are and shown with marks",
        AlteredReason::NoTime => "the body names no time, so that of the request or of its arrival was taken",
        AlteredReason::DuplicateSampleType => "two value columns had one name, so the later one was renamed",
        AlteredReason::BadLine => "lines that could not be read were left out",
        AlteredReason::ParameterDefaulted => "a parameter that could not be read was taken as not sent",
        AlteredReason::ServiceNameDefaulted => {
            "no service_name was sent, so another label or unknown_service took its place"
        }
        AlteredReason::LabelConflict => "two labels had one name, so one of them was taken",
        AlteredReason::CutByProfiler => "the profiler itself had cut stacks",
        _ => "a part was changed or left out",
    }
}
