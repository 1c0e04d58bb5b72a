//! Named tensors in a safetensors file, bit by bit.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

use burn::tensor::{DType, TensorData};
use safetensors::tensor::{Dtype, TensorView};
use safetensors::{SafeTensors, serialize_to_file};

use super::manifest::broken;
use crate::failure::TrainerError;

/// The kinds of numbers that both sides have.
const KINDS: [(DType, Dtype); 8] = [
    (DType::F64, Dtype::F64),
    (DType::F32, Dtype::F32),
    (DType::F16, Dtype::F16),
    (DType::BF16, Dtype::BF16),
    (DType::I64, Dtype::I64),
    (DType::I32, Dtype::I32),
    (DType::U32, Dtype::U32),
    (DType::U8, Dtype::U8),
];

/// Writes tensors into a file.
///
/// # Errors
/// [`TrainerError::Internal`] for a kind of numbers that such files do not have; [`TrainerError::Io`].
pub fn write_tensors(path: &Path, tensors: &[(String, TensorData)]) -> Result<(), TrainerError> {
    let mut views = Vec::with_capacity(tensors.len());
    for (name, data) in tensors {
        let kind = KINDS.iter().find(|(kind, _)| *kind == data.dtype()).map(|(_, kind)| *kind);
        let Some(kind) = kind else {
            return Err(TrainerError::Internal(format!("{name}: {:?} cannot be saved", data.dtype())));
        };
        let view = TensorView::new(kind, data.shape().to_vec(), data.as_bytes());
        views.push((name, view.map_err(|error| TrainerError::Internal(format!("{name}: {error}")))?));
    }
    // As in the folder of a policy, so that equal weights are equal files.
    let about = HashMap::from([("format".to_owned(), "pt".to_owned())]);
    serialize_to_file(views, Some(about), path).map_err(|error| TrainerError::Io {
        what: format!("writing {}", path.display()),
        source: std::io::Error::other(error),
    })
}

/// Reads all tensors of a file, by name.
///
/// # Errors
/// [`TrainerError::BadCheckpoint`] where the file is missing, cut short, or holds other kinds of numbers.
pub fn read_tensors(path: &Path) -> Result<BTreeMap<String, TensorData>, TrainerError> {
    let bytes = fs::read(path).map_err(|error| broken(path, &format!("it cannot be read: {error}")))?;
    let file =
        SafeTensors::deserialize(&bytes).map_err(|error| broken(path, &format!("it holds no tensors: {error}")))?;
    let mut tensors = BTreeMap::new();
    for (name, view) in file.iter() {
        let kind = KINDS.iter().find(|(_, kind)| *kind == view.dtype()).map(|(kind, _)| *kind);
        let Some(kind) = kind else {
            return Err(broken(path, &format!("{name} has numbers of kind {:?}, which are not read", view.dtype())));
        };
        let data = TensorData::try_from_bytes_vec(view.data().to_vec(), view.shape().to_vec(), kind);
        tensors.insert(name.to_owned(), data.map_err(|error| broken(path, &format!("{name}: {error}")))?);
    }
    Ok(tensors)
}
