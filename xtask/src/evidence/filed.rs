//! What a GPU machine needs not run again: the digests of what is filed, which travel in the bundle as `filed.txt`.

use std::fmt::Write as _;

use super::data::Evidence;
use super::shipped::UNKNOWN;

/// The part of `run.sh` that measures a topic.
fn part(topic: &str) -> &str {
    match topic {
        "calibration" => "calibrate",
        other => other,
    }
}

/// A line for each kernel of each topic and check: device, part, kernel, digest, a tab between them. What is of unknown
/// digests is left out, and so are checks that failed. A check that came to no end is there as such too.
pub fn list(evidence: &Evidence) -> String {
    let mut text = String::new();
    let mut line = |device: &str, part: &str, kernel: &str, digest: &str| {
        if digest != UNKNOWN {
            // Writing to a `String` cannot fail.
            let _ = writeln!(text, "{device}\t{part}\t{kernel}\t{digest}");
        }
    };
    for topic in evidence.topics.values() {
        for (kernel, digest) in &topic.digests {
            line(&topic.about.device, part(&topic.name), kernel, digest);
        }
        // What depends on no kernel is never run again.
        if topic.digests.is_empty() && evidence.stale(&topic.name).is_none() {
            line(&topic.about.device, part(&topic.name), "-", "-");
        }
    }
    for row in evidence.checks.iter().filter(|row| row.outcome != "failed") {
        line(&row.about.device, &row.check, &row.kernel, &row.digest);
        // `racecheck-slow` tries these with more time.
        if row.outcome == "no end" {
            line(&row.about.device, "no end", &row.kernel, &row.digest);
        }
    }
    text
}
