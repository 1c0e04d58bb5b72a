//! AdamW, Adam with decoupled weight decay, <https://arxiv.org/abs/1711.05101>, after
//! <https://arxiv.org/abs/1412.6980>. Written here because its state has to outlive a process bit by bit, named by the
//! paths of parameters.

use std::collections::BTreeMap;

use burn::module::{Module, ModuleMapper, Param};
use burn::tensor::{Device, Tensor, TensorData};
use palestra_protocol::spec::train::Optimizer;

use super::gradients::Gradients;
use super::path::{Path, trainable_shapes};
use crate::failure::TrainerError;

/// Endings of the names in the saved state.
const FIRST: &str = ".first_moment";
const SECOND: &str = ".second_moment";
const UPDATES: &str = ".updates";

/// Running moments of one parameter, flat `[elements]`.
#[derive(Debug, Clone)]
struct Moments {
    shape: Vec<usize>,
    updates: u64,
    first: Tensor<1>,
    second: Tensor<1>,
}

/// The optimizer of one module. With gradient g at the parameter's t-th update and rate lr:
///
/// m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g^2;
/// p = p (1 - lr decay) - lr (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon)
///
/// Parameters of one dimension (biases and the weights of norms) do not decay. A parameter without a gradient is left
/// as it is and has no state.
#[derive(Debug, Clone)]
pub struct AdamW {
    beta1: f64,
    beta2: f64,
    epsilon: f64,
    weight_decay: f64,
    moments: BTreeMap<String, Moments>,
}

impl AdamW {
    /// An optimizer that has made no update.
    #[must_use]
    pub fn new(plan: &Optimizer) -> Self {
        Self {
            beta1: plan.beta1,
            beta2: plan.beta2,
            epsilon: plan.epsilon,
            weight_decay: plan.weight_decay,
            moments: BTreeMap::new(),
        }
    }

    /// Changes the module, which has to be one with autodiff, along the gradients at the rate `rate`.
    ///
    /// # Errors
    /// [`TrainerError::Tensors`] where gradients belong to no parameter of the module or have another size; nothing has
    /// changed then.
    pub fn step<M: Module>(&mut self, module: M, gradients: &Gradients, rate: f64) -> Result<M, TrainerError> {
        let shapes = trainable_shapes(&module);
        let mut faults = Vec::new();
        for path in gradients.paths() {
            let found = gradients.get(path).map_or(0, |gradient| gradient.dims()[0]);
            match shapes.get(path) {
                Some(shape) if shape.iter().product::<usize>() == found => {}
                Some(shape) => faults.push(format!("{path}: {shape:?}, but its gradient has {found} elements")),
                None => faults.push(format!("{path}: a gradient, but no parameter that learns")),
            }
        }
        if !faults.is_empty() {
            return Err(TrainerError::Tensors(faults));
        }
        Ok(module.map(&mut Update { path: Path::default(), optimizer: self, gradients, rate }))
    }

    /// All that is remembered, as named tensors in a stable order: two moments in the shape of each parameter, and its
    /// number of updates as one i64.
    ///
    /// # Errors
    /// [`TrainerError::Device`] or [`TrainerError::OutOfMemory`] where a tensor cannot be read.
    pub fn state(&self) -> Result<Vec<(String, TensorData)>, TrainerError> {
        let mut tensors = Vec::with_capacity(3 * self.moments.len());
        for (path, moments) in &self.moments {
            for (ending, tensor) in [(FIRST, &moments.first), (SECOND, &moments.second)] {
                let data = tensor.clone().try_into_data();
                let data = data.map_err(|error| TrainerError::device(format!("{path}{ending}: {error}")))?;
                let (bytes, _, kind) = data.into_parts();
                let data = TensorData::try_from_bytes(bytes, moments.shape.clone(), kind);
                let data = data.map_err(|error| TrainerError::Internal(format!("{path}{ending}: {error}")))?;
                tensors.push((format!("{path}{ending}"), data));
            }
            let updates = TensorData::new(vec![moments.updates as i64], [1]);
            tensors.push((format!("{path}{UPDATES}"), updates));
        }
        Ok(tensors)
    }

    /// An optimizer that goes on from [`Self::state`], its moments on `device`.
    ///
    /// # Errors
    /// [`TrainerError::Tensors`] with every tensor that is missing, belongs to no parameter of `module`, or has another
    /// shape.
    pub fn load<M: Module>(
        plan: &Optimizer,
        module: &M,
        mut state: BTreeMap<String, TensorData>,
        device: &Device,
    ) -> Result<Self, TrainerError> {
        let device = device.clone().without_autodiff();
        let mut faults = Vec::new();
        let mut optimizer = Self::new(plan);
        for (path, shape) in trainable_shapes(module) {
            let mut take = |ending: &str| state.remove(&format!("{path}{ending}"));
            let (first, second, updates) = (take(FIRST), take(SECOND), take(UPDATES));
            let (first, second, updates) = match (first, second, updates) {
                (Some(first), Some(second), Some(updates)) => (first, second, updates),
                // A parameter that never had a gradient has no state.
                (None, None, None) => continue,
                _ => {
                    faults.push(format!("{path}: a part of its optimizer state is missing"));
                    continue;
                }
            };
            let updates = updates.try_into_vec::<i64>().ok().and_then(|updates| u64::try_from(*updates.first()?).ok());
            let fits = |data: &TensorData| data.shape().as_slice() == shape.as_slice();
            let Some(updates) = updates.filter(|_| fits(&first) && fits(&second)) else {
                let (first, second) = (first.shape().to_vec(), second.shape().to_vec());
                faults.push(format!("{path}: {shape:?}, but its optimizer state has {first:?} and {second:?}"));
                continue;
            };
            let elements: usize = shape.iter().product();
            let flat = |data: TensorData| {
                let (bytes, _, kind) = data.into_parts();
                TensorData::try_from_bytes(bytes, [elements], kind)
                    .map(|data| Tensor::<1>::from_data(data, &device))
                    .map_err(|error| TrainerError::Internal(format!("{path}: {error}")))
            };
            let moments = Moments { updates, first: flat(first)?, second: flat(second)?, shape: shape.clone() };
            optimizer.moments.insert(path, moments);
        }
        faults.extend(state.keys().map(|name| format!("{name}: of no parameter that learns")));
        if faults.is_empty() { Ok(optimizer) } else { Err(TrainerError::Tensors(faults)) }
    }

    /// The value `[elements]` of a parameter after an update.
    fn updated(&mut self, path: &str, shape: &[usize], value: Tensor<1>, gradient: &Tensor<1>, rate: f64) -> Tensor<1> {
        let moments = self.moments.entry(path.to_owned()).or_insert_with(|| Moments {
            shape: shape.to_vec(),
            updates: 0,
            first: gradient.zeros_like(),
            second: gradient.zeros_like(),
        });
        moments.updates += 1;
        // Powers in f64: beta2^t is so near 1 that f32 would lose most of 1 - beta2^t.
        let exponent = moments.updates as f64;
        let first_share = 1.0 - self.beta1.powf(exponent);
        let second_share = 1.0 - self.beta2.powf(exponent);
        moments.first = moments.first.clone().mul_scalar(self.beta1) + gradient.clone().mul_scalar(1.0 - self.beta1);
        moments.second =
            moments.second.clone().mul_scalar(self.beta2) + gradient.clone().square().mul_scalar(1.0 - self.beta2);
        let spread = moments.second.clone().div_scalar(second_share).sqrt().add_scalar(self.epsilon);
        let change = moments.first.clone().div(spread).mul_scalar(rate / first_share);
        let decay = if shape.len() > 1 { rate * self.weight_decay } else { 0.0 };
        let kept = if decay == 0.0 { value } else { value.mul_scalar(1.0 - decay) };
        kept - change
    }
}

struct Update<'a> {
    path: Path,
    optimizer: &'a mut AdamW,
    gradients: &'a Gradients,
    rate: f64,
}

impl ModuleMapper for Update<'_> {
    fn enter_module(&mut self, name: &str, _container_type: &str) {
        self.path.enter(name);
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.path.exit();
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let path = self.path.name();
        let Some(gradient) = self.gradients.get(&path).filter(|_| param.is_require_grad()) else { return param };
        let (id, tensor, mapper) = param.consume();
        let checkpointing = tensor.gradient_checkpointing_strategy();
        let shape = tensor.dims();
        let value = tensor.without_autodiff().reshape([shape.iter().product::<usize>()]);
        let updated = self.optimizer.updated(&path, &shape, value, gradient, self.rate).reshape(shape);
        let mut updated = Tensor::from_inner(updated);
        if let Some(strategy) = checkpointing {
            updated = updated.with_gradient_checkpointing_strategy(strategy);
        }
        Param::from_mapped_value(id, updated.require_grad(), mapper)
    }
}
