//! T41, J17: results that overlap their operand in memory at an offset, in both directions.

#![allow(unsafe_code, reason = "buffers that overlap arguments are made from raw parts")]

use rewright::ir::parse_module;
use rewright::lowering::exec::{Arg, Backend, Executable, Options, ViewMut};
use rewright::ndarray::{ArrayViewD, ShapeBuilder};
use rewright::rewrites::{NoObserver, Pipeline};
use rewright::{DType, Name};
use rewright_broadcast as _;

/// A two-dimensional view into memory, whose row stride may exceed the row length: first element, extents
/// and strides, in elements.
#[derive(Clone, Copy)]
struct Part {
    first: usize,
    shape: [usize; 2],
    strides: [usize; 2],
}

impl Part {
    fn places(&self) -> impl Iterator<Item = usize> {
        let Part { first, shape, strides } = *self;
        (0..shape[0]).flat_map(move |i| (0..shape[1]).map(move |j| first + i * strides[0] + j * strides[1]))
    }
}

/// The expected memory after `into = 2 * from + 1`: each element of `from` is read before it is
/// overwritten.
fn wanted(memory: &[f64], from: Part, into: Part) -> Vec<f64> {
    let values: Vec<f64> = from.places().map(|at| 2.0 * memory[at] + 1.0).collect();
    let mut after = memory.to_vec();
    into.places().zip(values).for_each(|(at, value)| after[at] = value);
    after
}

fn called(f: &Executable, memory: &[f64], from: Part, into: Part) -> Vec<f64> {
    let mut memory = memory.to_vec();
    assert!(from.places().chain(into.places()).all(|at| at < memory.len()));
    let start = memory.as_mut_ptr();
    // SAFETY: all places are inside of `memory`, which nothing else touches until the call has ended.
    let read = unsafe {
        ArrayViewD::from_shape_ptr(from.shape.to_vec().strides(from.strides.to_vec()), start.add(from.first))
    };
    let bytes = into.strides.map(|stride| 8 * stride as isize);
    // SAFETY: as above; no two elements are in one place.
    let written = unsafe { ViewMut::from_raw(DType::F64, start.add(into.first).cast(), &into.shape, &bytes) };
    f.call_into(&[Arg::from(read)], &mut [written]).expect("it runs");
    memory
}

#[test]
fn results_go_where_they_are_read_shifted() {
    let text = "func @f(%y: f64[m, n]) -> f64[m, n] {
entry:
  %0 = broadcasted 2.0, %y, op=\"mul\"
  %1 = broadcasted %0, 1.0, op=\"add\"
  %r = materialize %1
  ret %r
}";
    let mut module = parse_module(text, "f.ir").expect("the program is right");
    let pipeline = Pipeline::parse("default").expect("there is one");
    pipeline.run(&mut module, &Default::default(), &mut NoObserver).expect("it is rewritten");
    for backend in Backend::available() {
        let options = Options { backend, ..Options::default() };
        let f = Executable::compile(&module, Name::new("f"), options).expect("it compiles");
        for n in [1, 2, 5, 64, 1000] {
            let memory: Vec<f64> = (0..4 * (n + 3)).map(|at| f64::from(at as u32 % 251)).collect();
            let (row, rows) = ([1, n], [3, n]);
            let part = |first, shape, strides| Part { first, shape, strides };
            let cases = [
                ("forwards", part(0, row, [n, 1]), part(1, row, [n, 1])),
                ("backwards", part(1, row, [n, 1]), part(0, row, [n, 1])),
                ("by more than one", part(0, row, [n, 1]), part(3, row, [n, 1])),
                ("by a row and more", part(0, rows, [n + 1, 1]), part(n + 2, rows, [n + 1, 1])),
                ("by a row less", part(n + 2, rows, [n + 1, 1]), part(0, rows, [n + 1, 1])),
                ("every other one", part(0, row, [n, 2]), part(1, row, [n, 1])),
                ("to every other one", part(1, row, [n, 1]), part(0, row, [n, 2])),
                ("onto itself", part(2, rows, [n, 1]), part(2, rows, [n, 1])),
            ];
            for (name, from, into) in cases {
                // Later calls use the replay cache.
                for _ in 0..4 {
                    assert_eq!(called(&f, &memory, from, into), wanted(&memory, from, into), "{name} {n} {backend:?}");
                }
            }
        }
    }
}
