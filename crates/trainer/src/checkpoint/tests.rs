//! Checkpoints that are whole, cut short, altered, left half made, written again and pruned.

use std::fs;
use std::path::{Path, PathBuf};

use burn::tensor::{DType, TensorData};
use serde::{Deserialize, Serialize};

use super::{Checkpoint, Checkpoints};
use crate::failure::TrainerError;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct State {
    position: u64,
    baseline: f64,
}

const STATE: State = State { position: 7, baseline: 0.1 + 0.2 };

fn tensors() -> Vec<(String, TensorData)> {
    // Bits that a detour over text or another kind of number would lose.
    let odd = vec![f32::MIN_POSITIVE / 2.0, -0.0, f32::from_bits(0x7FC0_1234), f32::INFINITY, 1.0 / 3.0, 1e38];
    vec![
        ("odd".to_owned(), TensorData::new(odd, [2, 3])),
        ("half".to_owned(), TensorData::from_bytes_vec(vec![1, 2, 3, 4], [2], DType::BF16)),
        ("count".to_owned(), TensorData::new(vec![i64::MAX, -1], [2])),
        ("none".to_owned(), TensorData::new(Vec::<f32>::new(), [0, 4])),
    ]
}

fn write(checkpoints: &Checkpoints, step: u64) -> PathBuf {
    let draft = checkpoints.begin(step).unwrap();
    draft.tensors("optimizer.safetensors", &tensors()).unwrap();
    fs::create_dir(draft.path().join("adapter")).unwrap();
    fs::write(draft.path().join("adapter").join("config.json"), "{\"rank\": 4}").unwrap();
    draft.finish(&STATE).unwrap()
}

fn refused(path: &Path, file: &str) -> String {
    let error = Checkpoint::load(path).unwrap_err();
    assert!(matches!(&error, TrainerError::BadCheckpoint(_)), "{error}");
    assert!(error.to_string().contains(file), "{file} in {error}");
    error.to_string()
}

#[test]
fn loaded_checkpoints_equal_the_written_ones_bit_by_bit() {
    let folder = tempfile::tempdir().unwrap();
    let checkpoints = Checkpoints::open(&folder.path().join("job")).unwrap();
    assert!(checkpoints.newest().unwrap().is_none());
    let path = write(&checkpoints, 120);
    assert_eq!(path.file_name().unwrap(), "step-0000000120");
    let checkpoint = checkpoints.newest().unwrap().unwrap();
    assert_eq!((checkpoint.path(), checkpoint.step()), (path.as_path(), 120));
    assert!(checkpoint.has("adapter/config.json") && !checkpoint.has("model.safetensors"));
    assert_eq!(checkpoint.state::<State>().unwrap(), STATE);
    let found = checkpoint.tensors("optimizer.safetensors").unwrap();
    assert_eq!(found.len(), tensors().len());
    for (name, data) in tensors() {
        let found = &found[&name];
        assert_eq!((found.as_bytes(), found.shape(), found.dtype()), (data.as_bytes(), data.shape(), data.dtype()));
    }
}

#[test]
fn every_file_that_is_missing_cut_short_or_altered_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let checkpoints = Checkpoints::open(folder.path()).unwrap();
    for (step, file) in
        ["optimizer.safetensors", "adapter/config.json", "state.json", "manifest.json"].iter().enumerate()
    {
        let path = write(&checkpoints, step as u64);
        let broken = path.join(file);
        let whole = fs::read(&broken).unwrap();
        for position in [0, whole.len() / 2, whole.len() - 1] {
            let mut altered = whole.clone();
            // The lowest bit: a digit stays a digit, so that JSON stays JSON.
            altered[position] ^= 1;
            fs::write(&broken, altered).unwrap();
            refused(&path, file);
        }
        for length in [0, whole.len() / 2, whole.len() - 1] {
            fs::write(&broken, &whole[..length]).unwrap();
            refused(&path, file);
        }
        fs::remove_file(&broken).unwrap();
        refused(&path, file);
        fs::write(&broken, whole).unwrap();
        Checkpoint::load(&path).unwrap();
    }
    refused(&folder.path().join("step-elsewhere"), "manifest.json");
}

#[test]
fn a_changed_digit_of_the_list_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&Checkpoints::open(folder.path()).unwrap(), 41);
    let manifest = path.join("manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    assert!(text.contains("\"step\": 41"));
    fs::write(&manifest, text.replace("\"step\": 41", "\"step\": 42")).unwrap();
    assert!(refused(&path, "manifest.json").contains("altered"));
    fs::write(&manifest, text.replace("\"format\": 1", "\"format\": 9")).unwrap();
    assert!(refused(&path, "manifest.json").contains("format is 9"));
}

#[test]
fn unfinished_checkpoints_of_a_crash_are_removed_and_never_listed() {
    let folder = tempfile::tempdir().unwrap();
    let checkpoints = Checkpoints::open(folder.path()).unwrap();
    let path = write(&checkpoints, 1);
    let draft = checkpoints.begin(2).unwrap();
    draft.tensors("model.safetensors", &tensors()).unwrap();
    let half_made = draft.folder_that_stays();
    assert_eq!(checkpoints.list().unwrap(), std::slice::from_ref(&path));
    assert!(half_made.exists());
    let checkpoints = Checkpoints::open(folder.path()).unwrap();
    assert!(!half_made.exists());
    assert_eq!(checkpoints.list().unwrap(), [path]);
    let dropped = checkpoints.begin(3).unwrap();
    let place = dropped.path().to_owned();
    drop(dropped);
    assert!(!place.exists());
}

#[test]
fn the_newest_are_kept_and_a_repeated_step_counts_as_newer() {
    let folder = tempfile::tempdir().unwrap();
    let checkpoints = Checkpoints::open(folder.path()).unwrap();
    let first = write(&checkpoints, 9);
    let second = write(&checkpoints, 10);
    let again = write(&checkpoints, 10);
    let last = write(&checkpoints, 100);
    fs::write(folder.path().join("notes.txt"), "not a checkpoint").unwrap();
    assert_eq!(checkpoints.list().unwrap(), [last.clone(), again.clone(), second, first]);
    checkpoints.prune(2).unwrap();
    assert_eq!(checkpoints.list().unwrap(), [last.clone(), again]);
    checkpoints.prune(0).unwrap();
    assert_eq!(checkpoints.list().unwrap(), [last]);
    assert_eq!(checkpoints.newest().unwrap().unwrap().step(), 100);
    assert!(folder.path().join("notes.txt").exists());
}

#[test]
fn a_damaged_newest_is_an_error_and_the_one_before_still_loads() {
    let folder = tempfile::tempdir().unwrap();
    let checkpoints = Checkpoints::open(folder.path()).unwrap();
    let older = write(&checkpoints, 1);
    let newer = write(&checkpoints, 2);
    fs::remove_file(newer.join("state.json")).unwrap();
    assert_eq!(checkpoints.newest().unwrap_err().code(), "bad_checkpoint");
    assert_eq!(Checkpoint::load(&older).unwrap().step(), 1);
}

#[test]
fn a_state_of_another_shape_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&Checkpoints::open(folder.path()).unwrap(), 1);
    let error = Checkpoint::load(&path).unwrap().state::<Vec<u8>>().unwrap_err();
    assert!(error.to_string().contains("state.json"), "{error}");
}
