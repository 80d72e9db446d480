//! The distance of each e-class from the classes that changed since the last search.

use super::analysis::Graph;
use egg::Id;

/// The number of steps from users to operands between each class and the nearest changed one.
pub(crate) struct ClassDistances {
    /// By canonical id; `None` if all classes are searched.
    steps: Option<Vec<u8>>,
}

/// More steps than any pattern takes.
const FAR: u8 = u8::MAX;

impl ClassDistances {
    /// All classes.
    pub fn all() -> Self {
        ClassDistances { steps: None }
    }

    /// The distances to these classes.
    pub fn to(graph: &Graph, changed: &[Id]) -> Self {
        let mut steps = vec![FAR; graph.nodes().len()];
        let mut level: Vec<Id> = Vec::new();
        let mut enter = |id: Id, step: u8, level: &mut Vec<Id>| {
            let id = graph.find(id);
            let known = &mut steps[usize::from(id)];
            if *known == FAR {
                *known = step;
                level.push(id);
            }
        };
        changed.iter().for_each(|&id| enter(id, 0, &mut level));
        let mut step = 0u8;
        while !level.is_empty() {
            step = step.saturating_add(1).min(FAR - 1);
            let mut next = Vec::new();
            for id in level {
                graph[id].parents().for_each(|user| enter(user, step, &mut next));
            }
            level = next;
        }
        ClassDistances { steps: Some(steps) }
    }

    /// True if a class within `steps` steps changed.
    pub fn is_within(&self, class: Id, steps: u8) -> bool {
        self.steps.as_ref().is_none_or(|all| all[usize::from(class)] <= steps)
    }

    /// True if the class or anything that it is computed from changed.
    pub fn is_above(&self, class: Id) -> bool {
        self.is_within(class, FAR - 1)
    }
}
