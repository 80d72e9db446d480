//! The serialized tree of a function.

use crate::attr::Attrs;
use crate::function::{Block, Function, Inst, Target, Value};
use crate::text::Printer;
use crate::types::Type;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
#[serde(rename = "Module")]
pub(super) struct ModuleData(pub Vec<FunctionData>);

#[derive(Serialize, Deserialize)]
#[serde(rename = "Function", deny_unknown_fields)]
pub(super) struct FunctionData {
    pub name: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untyped: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<Type>,
    pub blocks: Vec<BlockData>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "Block", deny_unknown_fields)]
pub(super) struct BlockData {
    pub name: String,
    /// `("%x", "f64[n]")`; the parameters of the first block are the function's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub params: Vec<(String, Type)>,
    pub insts: Vec<InstData>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "Inst", deny_unknown_fields)]
pub(super) struct InstData {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<String>,
    pub op: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    #[serde(default, skip_serializing_if = "Attrs::is_empty")]
    pub attrs: Attrs,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<TargetData>,
    /// The result types; inferred if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<Type>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "Target", deny_unknown_fields)]
pub(super) struct TargetData {
    pub block: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
}

impl FunctionData {
    pub fn of(func: &Function) -> FunctionData {
        let printer = Printer::new(func);
        FunctionData {
            name: func.name.to_string(),
            untyped: func.untyped,
            results: func.results.clone(),
            blocks: func.blocks().map(|b| block(func, &printer, b)).collect(),
        }
    }
}

fn block(func: &Function, printer: &Printer<'_>, block: Block) -> BlockData {
    let param = |&v: &Value| (printer.value(v), func.ty(v).clone());
    BlockData {
        name: printer.block_name(block),
        params: func.block_params(block).iter().map(param).collect(),
        insts: func.insts(block).map(|i| inst(func, printer, i)).collect(),
    }
}

fn inst(func: &Function, printer: &Printer<'_>, inst: Inst) -> InstData {
    let data = func.inst(inst);
    let values = |list: &[Value]| list.iter().map(|&v| printer.value(v)).collect();
    let target = |t: &Target| TargetData { block: printer.block_name(t.block), args: values(&t.args) };
    InstData {
        results: values(&data.results),
        op: data.op.name.to_string(),
        args: values(&data.args),
        attrs: data.attrs.clone(),
        targets: data.targets.iter().map(target).collect(),
        types: data.results.iter().filter(|&&v| func.ty(v).is_known()).map(|&v| func.ty(v).clone()).collect(),
    }
}
