//! Reading and writing `.npy` files; `tests/oracle/npy.py` wrote those in `tests/oracle/npy/` with NumPy.

use rewright_ir::npy::{NpyError, from_bytes, read, to_bytes, write};
use rewright_ir::*;
use std::path::{Path, PathBuf};

fn files() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/oracle/npy")
}

/// Element `i`, in row-major order, of the files that the script wrote.
fn element(dtype: DType, i: usize) -> Scalar {
    let i = i as i64;
    match dtype.kind() {
        Kind::Bool => Scalar::Bool(i % 2 == 1),
        Kind::Int => Scalar::I64(if dtype.is_signed() { i * 5 - 30 } else { i * 5 }).cast(dtype),
        Kind::Float => Scalar::F64(i as f64 / 4.0 - 1.0).cast(dtype),
        Kind::Complex => Scalar::C128(Complex64::new(i as f64 / 4.0 - 1.0, i as f64)).cast(dtype),
    }
}

#[test]
fn files_that_numpy_wrote_are_read() {
    let mut seen = 0;
    for dtype in DType::ALL {
        for order in ["little", "big"] {
            for layout in ["c", "f"] {
                let array = read(files().join(format!("{dtype}-{order}-{layout}.npy"))).unwrap();
                assert_eq!(array, Array::from_fn(dtype, &[2, 3, 4], |i| element(dtype, i)).unwrap());
                seen += 1;
            }
        }
    }
    assert_eq!(seen, 52);
    for (name, shape) in
        [("rank0", &[][..]), ("rank1", &[3]), ("empty", &[0, 5]), ("version2", &[3]), ("version3", &[3])]
    {
        let array = read(files().join(format!("{name}.npy"))).unwrap();
        assert_eq!(array, Array::from_fn(DType::F64, shape, |i| element(DType::F64, i)).unwrap(), "{name}");
    }
}

#[test]
fn files_are_written_as_numpy_writes_them() {
    for dtype in DType::ALL {
        let array = Array::from_fn(dtype, &[2, 3, 4], |i| element(dtype, i)).unwrap();
        let expected = std::fs::read(files().join(format!("{dtype}-little-c.npy"))).unwrap();
        assert_eq!(to_bytes(&array), expected, "{dtype}");
        let transposed = array.permuted(&[2, 0, 1]);
        assert_eq!(from_bytes(&to_bytes(&transposed)).unwrap(), transposed, "strides don't show");
    }
    for name in ["rank0", "rank1", "empty"] {
        let path = files().join(format!("{name}.npy"));
        assert_eq!(to_bytes(&read(&path).unwrap()), std::fs::read(&path).unwrap(), "{name}");
    }
    let path = std::env::temp_dir().join(format!("rewright-npy-{}.npy", std::process::id()));
    let array = Array::full(Scalar::I16(-7), &[3]).unwrap();
    write(&path, &array).unwrap();
    assert_eq!(read(&path).unwrap(), array);
    std::fs::remove_file(&path).unwrap();
    assert!(read(&path).is_err_and(|e| e.to_string().contains("rewright-npy-")));
}

fn file(header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

#[test]
fn malformed_files_are_errors() {
    let header = |shape: &str| format!("{{'descr': '<i2', 'fortran_order': False, 'shape': {shape}, }}");
    assert!(from_bytes(&file(&header("(2,)"), &[1, 0, 2, 0])).is_ok());
    let cases: &[(Vec<u8>, &str)] = &[
        (vec![], "doesn't begin"),
        (b"PK\x03\x04".to_vec(), "doesn't begin"),
        (b"\x93NUMPY\x01".to_vec(), "doesn't begin"),
        (b"\x93NUMPY\x04\x00\x10\x00".to_vec(), "format 4.0"),
        (b"\x93NUMPY\x01\x00\xff\xff{".to_vec(), "the file ends in it"),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\xff{".to_vec(), "4294967295 bytes"),
        (file(&header("(2,)"), &[1, 0, 2]), "takes 4 bytes, the file has 3"),
        (file(&header("(2,)"), &[1, 0, 2, 0, 0]), "takes 4 bytes, the file has 5"),
        (file(&header("(4294967296, 4294967296, 4294967296)"), &[]), "takes 18446744073709551615 bytes"),
        (file(&header("(4294967296, 4294967296, 0)"), &[]), "can't be addressed"),
        (file(&header("(2, 0)"), &[1]), "takes 0 bytes, the file has 1"),
        (file(&header("(99999999999999999999,)"), &[]), "expected an extent"),
        (file(&header("(-1,)"), &[]), "expected an extent"),
        (file(&header("(2)"), &[1, 0, 2, 0]), "expected `,`"),
        (file(&header(&format!("({})", "1, ".repeat(65))), &[1, 0]), "more than 64 axes"),
        (file(&header(&"(".repeat(5000)), &[]), "expected an extent"),
        (file(&header("(2, 2"), &[]), "expected an extent"),
        (file(&header("(2, 2]"), &[]), "expected `)`"),
        (file("{'descr': '<i2', 'shape': (2,)}", &[]), "`fortran_order` is missing"),
        (file("{'shape': (2,), 'shape': (2,)}", &[]), "is there twice"),
        (file("{'shape': (2,), 'x': 1}", &[]), "unknown key `x`"),
        (file("{'descr': '<i2", &[]), "the end of a string"),
        (file("{'descr': '<i2', 'fortran_order': 0}", &[]), "True or False"),
        (file("{'descr': '<f2', 'fortran_order': False, 'shape': ()}", &[0, 0]), "type `<f2`"),
        (file("{'descr': '|i2', 'fortran_order': False, 'shape': ()}", &[0, 0]), "type `|i2`"),
        (file("{'descr': '<U4', 'fortran_order': False, 'shape': ()}", &[0; 16]), "type `<U4`"),
        (file("{'descr': [('a', '<i2')], 'fortran_order': False, 'shape': ()}", &[0, 0]), "('a', '<i2')"),
        (file(&(header("(2,)") + "x"), &[1, 0, 2, 0]), "more after its dictionary"),
        (file("{'descr': '\\x3ci2', 'fortran_order': False, 'shape': ()}", &[0, 0]), "escapes"),
    ];
    for (bytes, words) in cases {
        let error = from_bytes(bytes).unwrap_err();
        assert!(error.to_string().contains(words), "{words}: {error}");
    }
    assert!(matches!(from_bytes(b"\x93NUMPY\x01\x00\x02\x00\xff\xff"), Err(NpyError::Header(_))));
}

#[cfg(unix)]
#[test]
fn endless_files_are_rejected() {
    assert!(matches!(read("/dev/zero"), Err(NpyError::Magic)));
}

#[test]
fn damaged_files_never_panic() {
    let good = std::fs::read(files().join("i16-little-f.npy")).unwrap();
    let mut random = fastrand::Rng::with_seed(1);
    for _ in 0..20_000 {
        let mut bytes = good.clone();
        for _ in 0..3 {
            let at = random.usize(..bytes.len());
            match random.u8(..4) {
                0 => bytes.truncate(at.max(1)),
                1 => bytes.insert(at, random.u8(..)),
                _ => bytes[at] = random.u8(..),
            }
        }
        let _ = from_bytes(&bytes);
    }
}
