//! Texts: every tree is printed as a text of the same tree, and every text gives a tree or an error.
//!
//! `REWRIGHT_MUTATIONS=1000000 cargo test -p rewright-index --test all text::` runs more of them;
//! `REWRIGHT_SEED` selects others.

use rewright::{DType, Datum, Scalar, Type};
use rewright_index::{InputKind, Statements, parse};

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Programs with every part of the grammar.
const TEXTS: [&str; 49] = [
    "C[i, k] := A[i, j] * B[j, k]",
    "set one_based, threads=2\nset origin K[-2], strict\nC[i] := Q[i+j]*K[j] origin",
    "(max) X[i] := abs2(T[j,i,d]) init=0",
    "(&) p := A[i] > 0 && A[i] <= 3 || !q",
    "(*) P[_] := float(A[i])",
    "(hypot) s := x[i] init=0.5 threads=false",
    "Z[] := A[i]",
    "Z[0,_,i] := A[i]",
    "Z[i+_] := A[2i+10]",
    "D[i,i] := trunc(sqrt(A[i])) pad=-1",
    "E[2i+1] = A[i]",
    "E[i] += A[i] - -A[i]",
    "E[i] -= A[i]",
    "E[i] *= A[i]",
    "E[i] /= A[i]",
    "(max) C[i] ^= 5i",
    "H[J[i],k] := M[i,k]",
    "D[J[i],end-1] += M[i,begin]",
    "C[i] := A[mod(i+1)] (i in 0..3)",
    "C[i,j] := A[clamp(2i), pad(j-1,2)] + A[pad(i), pad(j,1,2)] (i, j in 0..=3)",
    "C[i] := A[J[k]+i, 2K[j]-1]",
    "N[i,j] := A[i]/j (j in axes(K,1)) (i in 0:n)",
    "y[i] := sum[m] (i in 0..3) strict",
    "lse[j] := log <| exp(m[i,j])",
    "n[_] := A[i]^3 |> (_)^(1/3)",
    "y[i] := x[i,k] |> atan2(_, B[i,$j])",
    "p[i,j] := exp(x[i,j]) / sum[k](exp(x[i,k]))",
    "p[i] := max[k in 0..3, l](x[i,k] * sum[m](y[m,l]))",
    "B[i,j] := begin x=(1:10)[i]+3; y=(1:3)[j]; x/y end",
    "B[i] := { j = mod(i^4, 10)\n a = 2; A[j] * a }",
    "F[k] := S[x]*exp(-im*pi/8*(k-1)*x) + 2.5im",
    "P[i'] := A[i′] ÷ 2 // 3 % 4",
    "y[i] := a[i] < b[i] ? a[i] : b[i] == 2 ? 1 : 0",
    "y[i] := (a[i] & b[i] | c[i])",
    "y[i] := $(n+1) * x[$n, $(m*2)]",
    "y[i] := -x[i]^2 + (-x[i])^2 ^ 3 + 2^-x[i]",
    "y[i] := 2(x[i] + 1) * 3x[i] - √x[i] + +x[i]",
    "y[i] := log.(B)[i] + min(a[i], b[i], 2)",
    "M[row=i, col=j] := N[col=j-i, row=i+1]",
    "s := x[i]*x[i] # a comment\n\n; t := s + 1",
    "y[i] = x[i, :] + z.a[i] + f.b.c",
    "t[i] := (x[i], y[i]) + (a=1, b=2) + (x[i],)",
    "y[i] := { a, b = off[i]; a + b }",
    "_[i] := A[i]",
    "_ := A[i] strict",
    "y[i] := true * x[i] + inf + nan + 1e-3 + 1_000",
    "y[i] := x[i] fastmath=true verbose=false tensor=false",
    "dP[x,y,z] := D[a+2,b+2]*P[mod(x+a+c),mod(y+b),z] (a,b,c in -1:1, z in 1:3, x,y in 1:4)",
    "A[i,j] += B[i,k,l] * C[l,j] * D[k,j]",
];

#[test]
fn trees_are_printed_as_their_text() {
    for text in TEXTS {
        let tree = parse(text, "text").unwrap_or_else(|errors| panic!("{text}\n{errors}"));
        let printed = tree.to_string();
        let again = parse(&printed, "printed").unwrap_or_else(|errors| panic!("{text}\n{printed}\n{errors}"));
        assert_eq!(again, tree, "{text}\n{printed}");
        assert_eq!(again.to_string(), printed);
    }
}

#[test]
fn printed_operations_have_the_brackets_that_they_need() {
    for (text, printed) in [
        ("s := (a + b) + c", "s := a + b + c\n"),
        ("s := a + (b + c)", "s := a + (b + c)\n"),
        ("s := 2i^2", "s := 2 * i ^ 2\n"),
        ("s := 1/2i", "s := 1 / (2 * i)\n"),
        ("s := -a^2", "s := -a ^ 2\n"),
        ("s := (-a)^2", "s := (-a) ^ 2\n"),
        ("s := a^b^c", "s := a ^ b ^ c\n"),
        ("s := (a^b)^c", "s := (a ^ b) ^ c\n"),
        ("s := a - (b - c) - d", "s := a - (b - c) - d\n"),
        ("s := (a < b) & c", "s := a < b && c\n"),
    ] {
        let tree = parse(text, "text").unwrap_or_else(|errors| panic!("{text}\n{errors}"));
        assert_eq!(tree.to_string(), printed, "{text}");
    }
}

/// A text with some parts deleted, repeated, exchanged or replaced.
fn mutated(random: &mut fastrand::Rng) -> String {
    let mut text: Vec<char> = random.choice(TEXTS).unwrap_or_default().chars().collect();
    const PARTS: [&str; 40] = [
        "[",
        "]",
        "(",
        ")",
        "{",
        "}",
        "i",
        "j",
        "2",
        "0",
        "-1",
        "+",
        "*",
        "^",
        ":=",
        "+=",
        "=",
        "|>",
        "<|",
        "$",
        "_",
        ",",
        ":",
        "..",
        " in ",
        "sum[i](",
        "pad(",
        "mod(",
        "J[i]",
        "end",
        "begin",
        "\n",
        ";",
        ".",
        "?",
        "1e999",
        "'",
        "9223372036854775807",
        "A[i,j]",
        " (i in 0..3)",
    ];
    for _ in 0..random.usize(1..4) {
        let (a, b) = (random.usize(0..=text.len()), random.usize(0..=text.len()));
        let (a, b) = (a.min(b), a.max(b).min(a.min(b) + 8));
        match random.u8(0..5) {
            0 => drop(text.drain(a..b)),
            1 => {
                let part: Vec<char> = text[a..b].to_vec();
                text.splice(a..a, part);
            }
            2 => {
                let other: Vec<char> = random.choice(TEXTS).unwrap_or_default().chars().collect();
                let from = random.usize(0..=other.len());
                let to = (from + random.usize(0..12)).min(other.len());
                text.splice(a..b, other[from..to].iter().copied());
            }
            3 => {
                let part = random.choice(PARTS).unwrap_or_default();
                text.splice(a..b, part.chars());
            }
            _ => {
                let part = random.choice(PARTS).unwrap_or_default();
                text.splice(a..a, part.chars());
            }
        }
    }
    text.into_iter().collect()
}

#[test]
fn mutated_texts_are_programs_or_errors() {
    let (count, seed) = (number("REWRIGHT_MUTATIONS", 20_000), number("REWRIGHT_SEED", 1));
    let (mut trees, mut programs, mut functions) = (0u64, 0u64, 0u64);
    for n in 0..count {
        let mut random = fastrand::Rng::with_seed(seed.wrapping_mul(1 << 32).wrapping_add(n));
        let text = mutated(&mut random);
        let Ok(tree) = parse(&text, "mutated") else { continue };
        trees += 1;
        let printed = tree.to_string();
        match parse(&printed, "printed") {
            Ok(again) => assert_eq!(again, tree, "{text}\n{printed}"),
            Err(errors) => panic!("{text}\n{printed}\n{errors}"),
        }
        let Ok(statements) = Statements::parse(&text) else { continue };
        programs += 1;
        functions += u64::from(statements.lower(&statements.symbolic_types()).is_ok());
        // Arrays of some extents, among them 0.
        let values = statements.inputs().iter().map(|(name, input)| {
            let mut dims = |rank: usize| (0..rank).map(|_| random.u64(0..5).into()).collect::<Vec<_>>();
            let ty = match input.kind {
                InputKind::Scalar => Type::scalar(DType::I64),
                InputKind::Array { rank } => Type::array(DType::F64, dims(rank)),
                InputKind::Positions { rank } => Type::array(DType::I64, dims(rank)),
            };
            let shape: Vec<usize> =
                ty.dims().iter().map(|dim| if let rewright::Dim::Const(n) = dim { *n as usize } else { 0 }).collect();
            let value: Datum = match input.kind {
                InputKind::Scalar => Scalar::I64(random.i64(-1..4)).into(),
                _ => rewright::Array::from_fn(ty.dtype(), &shape, |_| Scalar::I64(random.i64(0..4)).cast(ty.dtype()))
                    .expect("memory")
                    .into(),
            };
            (name.clone(), value)
        });
        let values = values.collect();
        if let Ok(lowered) = statements.lower_for(&values) {
            functions += 1;
            let args: Vec<Datum> = lowered.params.iter().map(|name| values[name].clone()).collect();
            let limits = rewright::Limits { steps: 100_000, ..rewright::Limits::default() };
            let _ = rewright::evaluate(&lowered.module, lowered.func, args, limits);
        }
    }
    println!("{count} texts, {trees} trees, {programs} programs, {functions} functions");
    assert!(trees * 50 > count && functions * 200 > count, "{trees} trees and {functions} functions of {count}");
}

#[test]
fn numbers_of_dims_are_bounded() {
    for text in [
        "y[i] := A[i] (i in axes(A, 64))",
        "s := A[i] * size(A, 9_000_000_000_000_000_000)",
        "s := size(A, 99999999999)",
    ] {
        let error = Statements::parse(text).err().unwrap_or_else(|| panic!("{text}"));
        assert!(error.to_string().contains("up to 64 dims"), "{error}");
    }
}
