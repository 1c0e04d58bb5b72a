//! Parameters by name, in the order in which a model holds them: what optimizers, checkpoints and files go by.

use std::collections::HashMap;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::tensor::{Tensor, TensorData};

use crate::failure::TrainerError;

/// Faults that are listed of one set of tensors; the rest is counted.
const FAULTS_TOLD_MAX: usize = 1_000;

/// Parameters by name. A name is the path of fields: `model.layers.0.self_attn.q_proj.weight`.
pub trait Named: Module {
    /// Every parameter with its values, in a stable order.
    fn tensors(&self) -> Vec<(String, TensorData)> {
        let mut visitor = Tensors::default();
        self.visit(&mut visitor);
        visitor.found
    }

    /// Names and shapes of every parameter, in the same order, without reading values.
    fn shapes(&self) -> Vec<(String, Vec<usize>)> {
        let mut visitor = Shapes::default();
        self.visit(&mut visitor);
        visitor.found
    }

    /// Names of the parameters that training changes. For a model with autodiff.
    fn trainable(&self) -> Vec<String> {
        let mut visitor = Trainable::default();
        self.visit(&mut visitor);
        visitor.found
    }

    /// The same model with these values; what is trained stays trained, what is frozen stays frozen.
    ///
    /// # Errors
    /// `Tensors` that lists every missing, unexpected and misshapen name.
    fn load(self, mut tensors: HashMap<String, TensorData>) -> Result<Self, TrainerError>
    where
        Self: Sized,
    {
        let found: Vec<_> =
            tensors.iter().map(|(name, data)| (name.clone(), data.shape().as_slice().to_vec())).collect();
        compare(&self.shapes(), &found)?;
        Ok(self.map(&mut Load { path: Path::default(), tensors: &mut tensors }))
    }
}

impl<M: Module> Named for M {}

/// Lists every difference between what a model wants and what there is.
///
/// # Errors
/// `Tensors`, sorted by kind and name.
pub(super) fn compare(expected: &[(String, Vec<usize>)], found: &[(String, Vec<usize>)]) -> Result<(), TrainerError> {
    let by_name: HashMap<&str, &[usize]> =
        found.iter().map(|(name, shape)| (name.as_str(), shape.as_slice())).collect();
    let mut faults = Vec::new();
    for (name, shape) in expected {
        match by_name.get(name.as_str()) {
            None => faults.push(format!("{name} {shape:?} is missing")),
            Some(other) if other != shape => faults.push(format!("{name} has the shape {other:?}, expected {shape:?}")),
            Some(_) => {}
        }
    }
    let wanted: std::collections::HashSet<&str> = expected.iter().map(|(name, _)| name.as_str()).collect();
    let mut unexpected: Vec<_> = found.iter().filter(|(name, _)| !wanted.contains(name.as_str())).collect();
    unexpected.sort();
    faults.extend(unexpected.iter().map(|(name, shape)| format!("{name} {shape:?} is unexpected")));
    if faults.is_empty() {
        return Ok(());
    }
    let rest = faults.len().saturating_sub(FAULTS_TOLD_MAX);
    faults.truncate(FAULTS_TOLD_MAX);
    if rest > 0 {
        faults.push(format!("and {rest} more"));
    }
    Err(TrainerError::Tensors(faults))
}

/// Where a visitor is.
#[derive(Debug, Default)]
struct Path(Vec<String>);

impl Path {
    fn enter(&mut self, name: &str) {
        self.0.push(name.to_owned());
    }

    fn exit(&mut self) {
        self.0.pop();
    }

    fn name(&self) -> String {
        self.0.join(".")
    }
}

#[derive(Default)]
struct Tensors {
    path: Path,
    found: Vec<(String, TensorData)>,
}

impl ModuleVisitor for Tensors {
    fn enter_module(&mut self, name: &str, _container_type: &str) {
        self.path.enter(name);
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.path.exit();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        self.found.push((self.path.name(), param.val().into_data()));
    }
}

#[derive(Default)]
struct Shapes {
    path: Path,
    found: Vec<(String, Vec<usize>)>,
}

impl ModuleVisitor for Shapes {
    fn enter_module(&mut self, name: &str, _container_type: &str) {
        self.path.enter(name);
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.path.exit();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        self.found.push((self.path.name(), param.dims().to_vec()));
    }
}

#[derive(Default)]
struct Trainable {
    path: Path,
    found: Vec<String>,
}

impl ModuleVisitor for Trainable {
    fn enter_module(&mut self, name: &str, _container_type: &str) {
        self.path.enter(name);
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.path.exit();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if param.is_require_grad() {
            self.found.push(self.path.name());
        }
    }
}

struct Load<'a> {
    path: Path,
    tensors: &'a mut HashMap<String, TensorData>,
}

impl ModuleMapper for Load<'_> {
    fn enter_module(&mut self, name: &str, _container_type: &str) {
        self.path.enter(name);
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.path.exit();
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let Some(data) = self.tensors.remove(&self.path.name()) else { return param };
        param.map(|old| {
            let new = Tensor::from_data(data, &old.device());
            if old.is_require_grad() { new.require_grad() } else { new }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use burn::tensor::{Device, TensorData};

    use super::Named;
    use crate::model::{Transformer, TransformerConfig};

    fn model(seed: u64) -> Transformer {
        let config = TransformerConfig {
            width: 8,
            layers: 1,
            heads: 2,
            kv_heads: 2,
            head_dim: 4,
            feed_forward: 8,
            ..TransformerConfig::tiny(16, None, 8)
        };
        Transformer::init(&config, seed, &Device::flex().autodiff()).unwrap()
    }

    #[test]
    fn loaded_values_are_those_that_were_taken() {
        let taken = model(1).tensors();
        let loaded = model(2).load(taken.iter().cloned().collect()).unwrap();
        assert_eq!(loaded.tensors(), taken);
        assert_eq!(loaded.trainable().len(), taken.len());
    }

    #[test]
    fn every_tensor_that_does_not_fit_is_listed() {
        let mut tensors: HashMap<String, TensorData> = model(1).tensors().into_iter().collect();
        tensors.remove("model.norm.weight");
        tensors.insert("model.layers.0.mlp.up_proj.weight".to_owned(), TensorData::zeros::<f32, _>([8, 9]));
        tensors.insert("lm_head.weight".to_owned(), TensorData::zeros::<f32, _>([16, 8]));
        let error = model(2).load(tensors).unwrap_err().to_string();
        for expected in [
            "model.norm.weight [8] is missing",
            "model.layers.0.mlp.up_proj.weight has the shape [8, 9], expected [8, 8]",
            "lm_head.weight [16, 8] is unexpected",
        ] {
            assert!(error.contains(expected), "{error}");
        }
    }
}
