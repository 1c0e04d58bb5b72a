//! Contents of training files: examples, which are counted here and read by the trainer, or environments, one a line.

use futures::StreamExt;
use palestra_protocol::problem::Fault;
use palestra_protocol::spec::play::{ENVIRONMENTS_MAX, EnvironmentMix};
use serde::Deserialize;

use super::super::super::strict;
use super::refusal::fault;
use super::setting::Settings;
use palestra_jobs::{ByteStream, JobsError};

/// Largest file of environments.
const MIX_BYTES_MAX: usize = 1 << 20;
/// The parameter that names the file.
pub(super) const PARAMETER: &str = "training_file";

/// A fault of a line of the file.
pub(super) fn at_line(line: u64, words: &str) -> Fault {
    Fault { line: Some(line), ..fault(PARAMETER, format!("line {line}: {words}")) }
}

/// Number of lines that are not blank.
pub(super) async fn count_lines(mut bytes: ByteStream) -> Result<u64, JobsError> {
    let (mut lines, mut blank) = (0, true);
    while let Some(piece) = bytes.next().await {
        for byte in piece? {
            if byte == b'\n' {
                lines += u64::from(!blank);
                blank = true;
            } else {
                blank &= byte.is_ascii_whitespace();
            }
        }
    }
    Ok(lines + u64::from(!blank))
}

/// A line: tasks of an environment. What it leaves out is what the metadata say.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    environment: Option<String>,
    split: Option<String>,
    weight: Option<f64>,
    difficulty: Option<[f64; 2]>,
}

impl Line {
    fn mix(self, settings: &Settings) -> Result<EnvironmentMix, String> {
        let name = self.environment.or_else(|| settings.environment.clone());
        let split = self.split.or_else(|| settings.split.clone()).unwrap_or_else(|| "train".to_owned());
        Ok(EnvironmentMix {
            name: name.ok_or("names no environment: name one here, or by `environment` in metadata")?,
            split,
            weight: self.weight.unwrap_or(1.0),
            difficulty: self.difficulty,
        })
    }
}

/// An environment, and the number of the line that names it.
pub(super) type Numbered = (u64, EnvironmentMix);

/// The environments of a file.
pub(super) async fn read_mix(
    mut bytes: ByteStream,
    settings: &Settings,
) -> Result<Result<Vec<Numbered>, Vec<Fault>>, JobsError> {
    let mut whole = Vec::new();
    while let Some(piece) = bytes.next().await {
        whole.extend_from_slice(&piece?);
        if whole.len() > MIX_BYTES_MAX {
            let words = format!("for reinforcement its lines name environments: at most {MIX_BYTES_MAX} bytes");
            return Ok(Err(vec![fault(PARAMETER, words)]));
        }
    }
    Ok(parse_mix(&whole, settings))
}

fn parse_mix(whole: &[u8], settings: &Settings) -> Result<Vec<Numbered>, Vec<Fault>> {
    let (mut mixes, mut faults) = (Vec::new(), Vec::new());
    for (number, line) in (1..).zip(whole.split(|byte| *byte == b'\n')) {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let read = strict::from_slice::<Line>(line).map_err(|error| error.to_string());
        match read.and_then(|line| line.mix(settings)) {
            Ok(mix) => mixes.push((number, mix)),
            Err(words) => {
                let form = "for reinforcement a line is an object with environment, split, weight and difficulty";
                faults.push(at_line(number, &format!("{words}; {form}")));
            }
        }
    }
    if mixes.is_empty() && faults.is_empty() {
        faults.push(fault(PARAMETER, "the file has no lines: upload one with an example per line"));
    }
    if mixes.len() > ENVIRONMENTS_MAX {
        faults.push(fault(PARAMETER, format!("at most {ENVIRONMENTS_MAX} lines")));
    }
    faults.truncate(ENVIRONMENTS_MAX);
    if faults.is_empty() { Ok(mixes) } else { Err(faults) }
}

#[cfg(test)]
mod tests {
    use tokio_util::bytes::Bytes;

    use super::*;

    async fn count(pieces: &[&'static str]) -> u64 {
        let pieces: Vec<_> = pieces.iter().map(|piece| Ok(Bytes::from_static(piece.as_bytes()))).collect();
        count_lines(futures::stream::iter(pieces).boxed()).await.unwrap()
    }

    #[tokio::test]
    async fn lines_are_counted_wherever_pieces_end() {
        assert_eq!(count(&[]).await, 0);
        assert_eq!(count(&["\n \r\n\t\n"]).await, 0);
        assert_eq!(count(&["{}\n{}\n"]).await, 2);
        assert_eq!(count(&["{", "}", "\n", "\n{}"]).await, 2);
        assert_eq!(count(&["{}\r\n", "{}\r\n"]).await, 2);
    }

    #[test]
    fn a_line_takes_from_the_metadata_what_it_leaves_out() {
        let settings = Settings { environment: Some("a/b".to_owned()), ..Settings::default() };
        let found = parse_mix(
            b"{\"difficulty\": [0, 0.5]}\n\n{\"environment\": \"c/d\", \"split\": \"x\", \"weight\": 2}",
            &settings,
        );
        let mix = |name: &str, split: &str, weight, difficulty| EnvironmentMix {
            name: name.to_owned(),
            split: split.to_owned(),
            weight,
            difficulty,
        };
        let (first, second) = (mix("a/b", "train", 1.0, Some([0.0, 0.5])), mix("c/d", "x", 2.0, None));
        assert_eq!(found.unwrap(), [(1, first), (3, second)]);
    }

    #[test]
    fn every_broken_line_is_told() {
        let faults =
            parse_mix(b"{\"messages\": []}\n{\"environment\": \"a/b\"}\n{}\nnonsense\n\xff", &Settings::default());
        let lines: Vec<_> = faults.unwrap_err().into_iter().map(|fault| fault.line).collect();
        assert_eq!(lines, [Some(1), Some(3), Some(4), Some(5)]);
        assert_eq!(parse_mix(b" \n", &Settings::default()).unwrap_err().len(), 1);
    }
}
