//! Path of a parameter in its module: the names of the fields down to it, joined by dots.

use std::collections::BTreeMap;

use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::Tensor;

/// The names from the module's root to where a traversal stands.
#[derive(Debug, Default)]
pub(super) struct Path(Vec<String>);

impl Path {
    pub(super) fn enter(&mut self, name: &str) {
        self.0.push(name.to_owned());
    }

    pub(super) fn exit(&mut self) {
        self.0.pop();
    }

    pub(super) fn name(&self) -> String {
        self.0.join(".")
    }
}

/// Shapes of a module's trainable parameters, by path.
pub fn trainable_shapes<M: Module>(module: &M) -> BTreeMap<String, Vec<usize>> {
    let mut visitor = Shapes::default();
    module.visit(&mut visitor);
    visitor.shapes
}

#[derive(Default)]
struct Shapes {
    path: Path,
    shapes: BTreeMap<String, Vec<usize>>,
}

impl ModuleVisitor for Shapes {
    fn enter_module(&mut self, name: &str, _container_type: &str) {
        self.path.enter(name);
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.path.exit();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if param.is_require_grad() {
            self.shapes.insert(self.path.name(), param.lazy_shape().to_vec());
        }
    }
}
