//! Comparisons that pack their results into bits within the loop: the words agree on every backend, for
//! all lengths, dtypes and strides. A remark reports packing in a separate step.

use rewright::ir::{Style, Styled, parse_module};
use rewright::lowering::exec::{Backend, Executable, Options, ViewMut};
use rewright::ndarray::{Array1, s};
use rewright::{Array, DType, Datum, Name, NoObserver, Pipeline, Scalar};
use rewright_broadcast as _;
use std::num::NonZeroU32;

const BACKENDS: [Backend; 5] = [Backend::Auto, Backend::X64, Backend::X64Avx2, Backend::Cranelift, Backend::Interp];
const LENGTHS: [usize; 13] = [0, 1, 7, 8, 9, 63, 64, 65, 1000, 8191, 8192, 8193, 20_000];

/// Compiles a function from its signature and the text after `entry:`.
fn compile(signature: &str, body: &str, options: Options) -> Option<Executable> {
    let text = format!("func @f{signature} {{\nentry:\n{body}\n}}");
    let mut module = parse_module(&text, "test").unwrap_or_else(|e| panic!("{}", e.render(false)));
    Pipeline::by_default().unwrap().run(&mut module, &Default::default(), &mut NoObserver).unwrap();
    // Some processors have no AVX2.
    Executable::compile(&module, "f", options).ok()
}

fn on_all(signature: &str, body: &str) -> impl Iterator<Item = Executable> {
    let options = |backend| Options { backend, threads: NonZeroU32::new(3), ..Options::default() };
    BACKENDS.into_iter().filter_map(move |backend| compile(signature, body, options(backend)))
}

/// Whether a kernel of the plan writes bits, and no separate step packs bools.
fn is_packed(f: &Executable) -> bool {
    let plan = f.plan().to_string();
    assert_eq!(plan.contains("pack_bits"), !f.remarks().is_empty(), "{plan}{:?}", f.remarks());
    plan.contains(" in bits") && !plan.contains("pack_bits")
}

/// Small numbers with duplicates.
fn numbers(dtype: DType, n: usize, seed: usize) -> Array {
    let element = |i: usize| Scalar::I64((i * i + 7 * i + seed) as i64 % 11 + i64::from(dtype.is_unsigned()) * 2);
    let negative = |i: usize| match element(i) {
        Scalar::I64(n) if !dtype.is_unsigned() => Scalar::I64(n - 5),
        other => other,
    };
    Array::from_fn(dtype, &[n], |i| negative(i).cast(dtype)).unwrap()
}

fn words(wanted: impl Iterator<Item = bool>, n: usize) -> Datum {
    let bools: Vec<bool> = wanted.collect();
    let array = Array::from_fn(DType::Bool, &[n], |i| Scalar::Bool(bools[i])).unwrap();
    Styled::of(Style::named(Name::new("bits")).unwrap(), &array).unwrap().into()
}

fn number(array: &Array, i: usize) -> i128 {
    match array.get(&[i]).unwrap() {
        Scalar::F64(x) => x as i128,
        Scalar::F32(x) => x as i128,
        other => other.to_i128().unwrap(),
    }
}

#[test]
fn all_lengths_and_dtypes_on_every_backend() {
    for dtype in ["f64", "f32", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"] {
        let signature = format!("(%a: {dtype}[n], %b: {dtype}[n]) -> bool[n; bits]");
        let body = "  %0 = broadcasted %a, %b, op=\"lt\"\n  %r = materialize %0, style=\"bits\"\n  ret %r";
        let dtype = dtype.parse().unwrap();
        for f in on_all(&signature, body) {
            assert!(is_packed(&f));
            for n in LENGTHS {
                let [a, b] = [1, 4].map(|seed| numbers(dtype, n, seed));
                let wanted = words((0..n).map(|i| number(&a, i) < number(&b, i)), n);
                // Later calls use the replay cache.
                for _ in 0..4 {
                    assert_eq!(f.call(&[(&a).into(), (&b).into()]).unwrap()[0], wanted, "{dtype} {n}");
                }
            }
        }
    }
}

#[test]
fn logic_scalars_and_operands_with_strides() {
    let signature = "(%a: f64[n], %b: f32[n], %c: i16[n], %d: f64) -> bool[n; bits]";
    let body = "  %0 = broadcasted %a, %d, op=\"ge\"
  %1 = broadcasted %b, %a, op=\"ne\"
  %2 = broadcasted %c, 0, op=\"ne\"
  %3 = broadcasted %0, %1, op=\"and\"
  %4 = broadcasted %3, %2, op=\"or\"
  %r = materialize %4, style=\"bits\"
  ret %r";
    for f in on_all(signature, body) {
        assert!(is_packed(&f));
        for n in LENGTHS {
            let a = Array1::from_shape_fn(3 * n, |i| if i % 17 == 3 { f64::NAN } else { (i % 13) as f64 - 4.0 });
            let b = Array1::from_shape_fn(n, |i| (i % 5) as f32 - 2.0);
            let c = Array1::from_shape_fn(2 * n + 1, |i| (i % 3) as i16);
            let (a, b, c) = (a.slice(s![..;3]), b.slice(s![..;-1]), c.slice(s![1..;2]));
            let element = |i: usize| (a[i] >= 1.5 && f64::from(b[i]) != a[i]) || c[i] != 0;
            let wanted = words((0..n).map(element), n);
            for _ in 0..4 {
                let args = [a.into(), b.into(), c.into(), 1.5.into()];
                assert_eq!(f.call(&args).unwrap()[0], wanted, "{n}");
            }
        }
    }
}

#[test]
fn threads_share_whole_words() {
    let signature = "(%a: f64[n], %b: f64[n]) -> bool[n; bits]";
    let body = "  %0 = broadcasted %a, %b, op=\"lt\"\n  %r = materialize %0, style=\"bits\"\n  ret %r";
    let n = 1_000_003;
    let [a, b] = [3, 9].map(|seed| numbers(DType::F64, n, seed));
    let wanted = words((0..n).map(|i| number(&a, i) < number(&b, i)), n);
    for threads in [1, 2, 5] {
        let options = Options { threads: NonZeroU32::new(threads), times: threads == 2, ..Options::default() };
        let f = compile(signature, body, options).unwrap();
        for _ in 0..4 {
            assert_eq!(f.call(&[(&a).into(), (&b).into()]).unwrap()[0], wanted, "{threads}");
        }
        let schedule = f.schedules().first().map(|step| step.schedule.to_string());
        assert_eq!(schedule.is_some(), threads == 2);
        assert!(schedule.is_none_or(|text| text.starts_with("reorder(i) ")));
    }
}

#[test]
fn words_go_where_the_caller_wants_them() {
    let signature = "(%a: f64[n]) -> u64[?]";
    let body = "  %0 = broadcasted %a, 0.5, op=\"gt\"
  %r = materialize %0, style=\"bits\"
  %w = component %r, name=\"words\"
  ret %w";
    for f in on_all(signature, body) {
        assert!(is_packed(&f));
        for n in [0, 65, 1000, 10_000] {
            let a = Array1::from_shape_fn(n, |i| (i * i % 3) as f64);
            let mut wanted = vec![0u64; n.div_ceil(64)];
            a.iter().enumerate().for_each(|(i, &x)| wanted[i / 64] |= u64::from(x > 0.5) << (i % 64));
            let mut dense = Array1::from_elem(wanted.len(), u64::MAX);
            let mut apart = Array1::from_elem(2 * wanted.len() + 1, u64::MAX);
            for _ in 0..4 {
                dense.fill(u64::MAX);
                f.call_into(&[(&a).into()], &mut [ViewMut::from(&mut dense)]).unwrap();
                assert_eq!(dense.to_vec(), wanted, "{n}");
            }
            for _ in 0..4 {
                f.call_into(&[(&a).into()], &mut [ViewMut::from(apart.slice_mut(s![1..;2]))]).unwrap();
                assert_eq!(apart.slice(s![1..;2]).to_vec(), wanted, "{n}");
                assert!(apart.slice(s![..;2]).iter().all(|&word| word == u64::MAX), "{n}");
            }
        }
    }
}

#[test]
fn operands_that_do_not_fit_are_errors() {
    let signature = "(%a: f64[n], %b: f64[m]) -> bool[?]";
    let body = "  %0 = arrayexpr [i: n] (x = %a[i], y = %b[i]) {\n    t0 = lt x, y\n    yield t0\n  } : bool[n]
  %w = pack_bits %0
  %r = assemble %w, style=\"bits\", dims=[n], dtype=bool
  %d = restyle %r, style=\"dense\"
  ret %d";
    for f in on_all(signature, body) {
        let [a, b, short] = [(80, 1), (80, 2), (70, 2)].map(|(n, seed)| numbers(DType::F64, n, seed));
        assert!(f.call(&[(&a).into(), (&b).into()]).is_ok());
        assert!(f.call(&[(&a).into(), (&short).into()]).is_err());
    }
}

#[test]
fn where_bools_are_packed_afterwards_is_told() {
    let both = "  %0 = broadcasted %a, 0.0, op=\"lt\"
  %1 = materialize %0
  %r = restyle %1, style=\"bits\"
  ret %1, %r";
    let rows = "  %0 = broadcasted %a, 0.0, op=\"lt\"\n  %r = materialize %0, style=\"bits\"\n  ret %r";
    let totals = "  %0 = sum %a, axes=[1]
  %1 = lt %0, 3.0
  %r = restyle %1, style=\"bits\"
  ret %r";
    let cases = [
        ("(%a: f64[n]) -> bool[n], bool[n; bits]", both, "others use them, too"),
        ("(%a: f64[n, m]) -> bool[n, m; bits]", rows, "they are computed in several loops"),
        ("(%a: f64[n, m]) -> bool[n; bits]", totals, "they are computed in several loops"),
    ];
    for (signature, body, why) in cases {
        let f = compile(signature, body, Options::default()).unwrap();
        let told: Vec<String> = f.remarks().iter().map(ToString::to_string).collect();
        assert!(!is_packed(&f));
        let start = "`pack_bits` runs by itself, after the kernel of its bools: ";
        assert!(told.len() == 1 && told[0].contains(&format!("{start}{why}")), "{told:?}");
    }
    // Bool arguments get no remark: there is no producer to fuse with.
    let given =
        compile("(%a: bool[n]) -> bool[n; bits]", "  %r = restyle %a, style=\"bits\"\n  ret %r", Options::default());
    assert!(given.unwrap().remarks().is_empty());
}
