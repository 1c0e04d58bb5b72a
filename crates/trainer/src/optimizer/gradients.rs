//! Gradients of a module by path: added up over micro-batches, measured and clipped over all tensors together.

use std::collections::BTreeMap;

use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::{Gradients as Backward, Tensor};

use super::path::Path;
use crate::failure::TrainerError;

/// Elements that are summed on the device in its own precision; the sums are added in f64.
const PARTIAL_SUM_ELEMENTS: usize = 4_096;
/// Largest exponent of 2 by which numbers are scaled: beyond, the factor itself is not a normal f32.
const SCALE_EXPONENT_MAX: f64 = 120.0;

/// The sum of the gradients of some micro-batches, each flat `[elements]`, by the path of its parameter. Parameters
/// that are frozen or took no part in the loss have none.
#[derive(Debug, Default)]
pub struct Gradients {
    tensors: BTreeMap<String, Tensor<1>>,
}

impl Gradients {
    /// No gradients yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds what a backward pass (`loss.backward()`) left for the parameters of `module`.
    pub fn add<M: Module>(&mut self, module: &M, backward: Backward) {
        let mut visitor = Collect { path: Path::default(), backward, into: &mut self.tensors };
        module.visit(&mut visitor);
    }

    /// Adds another sum.
    pub fn merge(&mut self, other: Self) {
        for (path, tensor) in other.tensors {
            add(&mut self.tensors, path, tensor);
        }
    }

    /// Number of tensors that have a gradient.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tensors.len()
    }

    /// True if no tensor has one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tensors.is_empty()
    }

    /// Euclidean norm over all tensors together, summed in f64.
    ///
    /// # Errors
    /// [`TrainerError::NotFinite`] with the path of the first tensor that holds NaN or infinity;
    /// [`TrainerError::Device`] and [`TrainerError::OutOfMemory`].
    pub fn norm(&self) -> Result<f64, TrainerError> {
        if self.tensors.is_empty() {
            return Ok(0.0);
        }
        // Each tensor is scaled by its largest magnitude: squares of large f32 numbers are infinite, of small ones 0. A
        // power of 2 costs no rounding.
        let largest: Vec<Tensor<1>> = self.tensors.values().map(|tensor| tensor.clone().abs().max()).collect();
        let largest = numbers(Tensor::cat(largest, 0))?;
        let mut partial = Vec::with_capacity(self.tensors.len());
        let mut lengths = Vec::with_capacity(self.tensors.len());
        let mut scales = Vec::with_capacity(self.tensors.len());
        for ((name, tensor), &largest) in self.tensors.iter().zip(&largest) {
            if !largest.is_finite() {
                return Err(not_finite(name));
            }
            let scale = if largest > 0.0 {
                largest.log2().floor().clamp(-SCALE_EXPONENT_MAX, SCALE_EXPONENT_MAX).exp2()
            } else {
                1.0
            };
            let sums = squares(tensor.clone().div_scalar(scale));
            scales.push(scale);
            lengths.push(sums.dims()[0]);
            partial.push(sums);
        }
        let sums = numbers(Tensor::cat(partial, 0))?;
        let mut rest = sums.as_slice();
        let mut total = 0.0;
        for ((name, length), scale) in self.tensors.keys().zip(lengths).zip(scales) {
            let (sums, others) = rest.split_at(length);
            rest = others;
            let sum: f64 = sums.iter().sum();
            // The largest magnitude may have skipped a NaN, the sum cannot.
            if !sum.is_finite() {
                return Err(not_finite(name));
            }
            total += sum * scale * scale;
        }
        Ok(total.sqrt())
    }

    /// Scales all tensors so that their norm is at most `norm_max` (0 bounds nothing), by min(1, max / (norm + 1e-6))
    /// as PyTorch's `clip_grad_norm_` does. Answers the norm before.
    ///
    /// # Errors
    /// As [`Self::norm`]; the gradients are unchanged then.
    pub fn clip(&mut self, norm_max: f64) -> Result<f64, TrainerError> {
        let norm = self.norm()?;
        let scale = norm_max / (norm + 1e-6);
        if norm_max > 0.0 && scale < 1.0 {
            self.scale(scale);
        }
        Ok(norm)
    }

    /// Multiplies all tensors by a number.
    pub fn scale(&mut self, scale: f64) {
        for tensor in self.tensors.values_mut() {
            *tensor = tensor.clone().mul_scalar(scale);
        }
    }

    /// The gradient of a parameter.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<&Tensor<1>> {
        self.tensors.get(path)
    }

    /// The paths that have a gradient, in order.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }
}

fn not_finite(path: &str) -> TrainerError {
    TrainerError::NotFinite { tensor: format!("the gradient of {path}") }
}

fn numbers(tensor: Tensor<1>) -> Result<Vec<f64>, TrainerError> {
    let data = tensor.try_into_data();
    let data = data.map_err(|error| TrainerError::device(format!("a gradient could not be read: {error}")))?;
    data.try_into_vec_as::<f64>()
        .map_err(|error| TrainerError::Internal(format!("a gradient of another kind: {error}")))
}

/// Sums of squares `[parts]` over parts of [`PARTIAL_SUM_ELEMENTS`].
fn squares(tensor: Tensor<1>) -> Tensor<1> {
    let [elements] = tensor.dims();
    let parts = elements / PARTIAL_SUM_ELEMENTS;
    let whole = parts * PARTIAL_SUM_ELEMENTS;
    if parts == 0 {
        return tensor.square().sum();
    }
    let head =
        tensor.clone().narrow(0, 0, whole).reshape([parts, PARTIAL_SUM_ELEMENTS]).square().sum_dim(1).reshape([parts]);
    if whole == elements {
        return head;
    }
    Tensor::cat(vec![head, tensor.narrow(0, whole, elements - whole).square().sum()], 0)
}

fn add(sums: &mut BTreeMap<String, Tensor<1>>, path: String, gradient: Tensor<1>) {
    let sum = match sums.remove(&path) {
        Some(sum) => sum.add(gradient),
        None => gradient,
    };
    sums.insert(path, sum);
}

struct Collect<'a> {
    path: Path,
    backward: Backward,
    into: &'a mut BTreeMap<String, Tensor<1>>,
}

impl ModuleVisitor for Collect<'_> {
    fn enter_module(&mut self, name: &str, _container_type: &str) {
        self.path.enter(name);
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.path.exit();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if !param.is_require_grad() {
            return;
        }
        let Some(gradient) = param.val().grad_remove(&mut self.backward) else { return };
        let flat = gradient.without_autodiff();
        let elements = flat.shape().num_elements();
        let flat = flat.reshape([elements]);
        add(self.into, self.path.name(), flat);
    }
}
