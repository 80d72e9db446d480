//! Reading and writing NumPy's `.npy` files, formats 1.0 to 3.0.
//!
//! Supports all element types of Rewright in both byte orders, row-major and column-major. The header is
//! checked against the file's size before an allocation of that size.
//!
//! ```
//! use rewright_ir::{Array, Scalar, npy};
//! let array = Array::full(Scalar::F32(1.5), &[2, 3]).unwrap();
//! assert_eq!(npy::from_bytes(&npy::to_bytes(&array))?, array);
//! # Ok::<(), npy::NpyError>(())
//! ```

use crate::dtype::DType;
use crate::value::{Array, Element, checked_len};
use crate::with_dtype;
use ndarray::{ArcArray, IxDyn};
use num_complex::{Complex, Complex32, Complex64};
use std::fmt::Write as _;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use thiserror::Error;

/// The reason why a file can't be read as an array.
#[derive(Debug, Error)]
pub enum NpyError {
    /// The file can't be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// The cause.
        source: std::io::Error,
    },
    /// The file does not start with the magic string.
    #[error("not a .npy file: it doesn't begin with \\x93NUMPY")]
    Magic,
    /// An unknown format version.
    #[error("format {0}.{1} of .npy files is not known; 1.0, 2.0 and 3.0 are")]
    Version(u8, u8),
    /// The header violates the format.
    #[error("malformed .npy header: {0}")]
    Header(String),
    /// An element type that Rewright does not support.
    #[error("elements of type `{0}` are not supported")]
    Unsupported(String),
    /// More or fewer bytes than the shape needs.
    #[error("shape {shape:?} of {dtype} takes {expected} bytes, the file has {found}")]
    Size {
        /// The shape.
        shape: Vec<usize>,
        /// The element type.
        dtype: DType,
        /// The number of bytes that the shape needs.
        expected: usize,
        /// The number of bytes in the file.
        found: usize,
    },
}

/// The magic string at the start of a file.
const MAGIC: &[u8] = b"\x93NUMPY";

/// The maximum length of a header, in bytes.
const MAX_HEADER: usize = 1 << 16;

/// The maximum rank of an array: NumPy's own limit.
const MAX_RANK: usize = 64;

/// Reads a file.
pub fn read(path: impl AsRef<Path>) -> Result<Array, NpyError> {
    let path = path.as_ref();
    let failed = |source| NpyError::Io { path: path.display().to_string(), source };
    let mut file = File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    // Reads only the magic string first: another file may be endless.
    file.by_ref().take(MAGIC.len() as u64).read_to_end(&mut bytes).map_err(failed)?;
    if bytes != MAGIC {
        return Err(NpyError::Magic);
    }
    file.read_to_end(&mut bytes).map_err(failed)?;
    from_bytes(&bytes)
}

/// Writes a file.
pub fn write(path: impl AsRef<Path>, array: &Array) -> Result<(), NpyError> {
    let path = path.as_ref();
    std::fs::write(path, to_bytes(array)).map_err(|source| NpyError::Io { path: path.display().to_string(), source })
}

/// Reads an array from the contents of a file.
pub fn from_bytes(bytes: &[u8]) -> Result<Array, NpyError> {
    let rest = bytes.strip_prefix(MAGIC).ok_or(NpyError::Magic)?;
    let (version, rest) = rest.split_at_checked(2).ok_or(NpyError::Magic)?;
    let length_bytes = match version {
        [1, 0] => 2,
        [2 | 3, 0] => 4,
        other => return Err(NpyError::Version(other[0], other[1])),
    };
    let cut = || NpyError::Header("the file ends in it".to_string());
    let (length, rest) = rest.split_at_checked(length_bytes).ok_or_else(cut)?;
    let length = length.iter().rev().fold(0usize, |n, &b| n << 8 | usize::from(b));
    if length > MAX_HEADER {
        return Err(NpyError::Header(format!("it has {length} bytes, more than {MAX_HEADER}")));
    }
    let (header, data) = rest.split_at_checked(length).ok_or_else(cut)?;
    let header = std::str::from_utf8(header).map_err(|_| NpyError::Header("it is not UTF-8".to_string()))?;
    let header = Header::parse(header)?;
    let (dtype, big) = element_type(&header.descr)?;
    let len = checked_len(&header.shape).filter(|n| n.checked_mul(dtype.size()) == Some(data.len()));
    let Some(len) = len else {
        if header.shape.contains(&0) && data.is_empty() {
            return Err(NpyError::Header(format!("an array of shape {:?} can't be addressed", header.shape)));
        }
        let expected = header.shape.iter().fold(dtype.size(), |n, &extent| n.saturating_mul(extent));
        return Err(NpyError::Size { shape: header.shape, dtype, expected, found: data.len() });
    };
    with_dtype!(dtype, T => elements::<T>(data, len, big, &header))
}

/// The contents of a file, in format 1.0 and row-major order, as NumPy writes it.
pub fn to_bytes(array: &Array) -> Vec<u8> {
    let mut shape = String::new();
    for n in array.shape() {
        // Writing to a string can't fail.
        let _ = write!(shape, "{n}, ");
    }
    let shape = if array.rank() == 1 { shape.trim_end() } else { shape.trim_end_matches(", ") };
    let dtype = array.dtype();
    let order = if dtype.size() == 1 { '|' } else { '<' };
    let size = dtype.size();
    let mut header =
        format!("{{'descr': '{order}{}{size}', 'fortran_order': False, 'shape': ({shape}), }}", kind(dtype));
    // The data start at a multiple of 64 bytes, after a line end.
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = Vec::with_capacity(10 + header.len() + array.len() * size);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(b"\x01\x00");
    bytes.extend_from_slice(&(header.len() as u16).to_le_bytes());
    bytes.extend_from_slice(header.as_bytes());
    crate::with_array!(array, |a| a.iter().for_each(|x| x.put(&mut bytes)));
    bytes
}

/// The letter of a dtype's kind.
fn kind(dtype: DType) -> char {
    match dtype {
        DType::Bool => 'b',
        d if d.is_signed() => 'i',
        d if d.is_unsigned() => 'u',
        d if d.is_float() => 'f',
        _ => 'c',
    }
}

/// The element type of a type string, and whether its bytes are in big-endian order.
fn element_type(descr: &str) -> Result<(DType, bool), NpyError> {
    let mut letters = descr.chars();
    let order = letters.next();
    let rest = letters.as_str();
    let found = DType::ALL.into_iter().find(|d| rest == format!("{}{}", kind(*d), d.size()));
    match (found, order) {
        (Some(d), Some('<' | '=')) => Ok((d, false)),
        (Some(d), Some('>')) => Ok((d, true)),
        (Some(d), Some('|')) if d.size() == 1 => Ok((d, false)),
        _ => Err(NpyError::Unsupported(descr.to_string())),
    }
}

fn elements<T: Element + Bytes>(data: &[u8], len: usize, big: bool, header: &Header) -> Result<Array, NpyError> {
    let mut values: Vec<T> = Vec::with_capacity(len);
    values.extend(data.chunks_exact(T::DTYPE.size()).map(|chunk| T::get(chunk, big)));
    let mut shape = header.shape.clone();
    if header.fortran {
        shape.reverse();
    }
    let array = ArcArray::from_shape_vec(IxDyn(&shape), values)
        .map_err(|e| NpyError::Header(format!("shape {:?}: {e}", header.shape)))?;
    Ok(T::wrap(if header.fortran { array.reversed_axes() } else { array }))
}

// --- Elements -----------------------------------------------------------------------------------

/// Conversion of an element from and to bytes.
trait Bytes: Sized {
    /// From `size_of::<Self>()` bytes.
    fn get(bytes: &[u8], big: bool) -> Self;
    /// Appends its little-endian bytes.
    fn put(&self, to: &mut Vec<u8>);
}

macro_rules! number_bytes {
    ($($ty:ty)*) => {$(
        impl Bytes for $ty {
            fn get(bytes: &[u8], big: bool) -> Self {
                let mut own = [0; size_of::<$ty>()];
                own.copy_from_slice(bytes);
                if big { <$ty>::from_be_bytes(own) } else { <$ty>::from_le_bytes(own) }
            }
            fn put(&self, to: &mut Vec<u8>) {
                to.extend_from_slice(&self.to_le_bytes());
            }
        }
    )*};
}
number_bytes!(i8 i16 i32 i64 u8 u16 u32 u64 f32 f64);

impl Bytes for bool {
    fn get(bytes: &[u8], _: bool) -> Self {
        bytes != [0]
    }
    fn put(&self, to: &mut Vec<u8>) {
        to.push(u8::from(*self));
    }
}

macro_rules! complex_bytes {
    ($($ty:ty)*) => {$(
        impl Bytes for $ty {
            fn get(bytes: &[u8], big: bool) -> Self {
                let (re, im) = bytes.split_at(bytes.len() / 2);
                Complex::new(Bytes::get(re, big), Bytes::get(im, big))
            }
            fn put(&self, to: &mut Vec<u8>) {
                self.re.put(to);
                self.im.put(to);
            }
        }
    )*};
}
complex_bytes!(Complex32 Complex64);

// --- Header -------------------------------------------------------------------------------------

/// The contents of a header.
struct Header {
    descr: String,
    fortran: bool,
    shape: Vec<usize>,
}

/// Parses the Python literal in a header: a dictionary of a string, a bool and a tuple.
struct HeaderParser<'a> {
    rest: &'a str,
}

impl Header {
    fn parse(text: &str) -> Result<Header, NpyError> {
        let mut reader = HeaderParser { rest: text };
        let (mut descr, mut fortran, mut shape) = (None, None, None);
        reader.expect('{')?;
        while !reader.take('}') {
            let key = reader.string()?;
            reader.expect(':')?;
            let again = match key {
                "descr" if reader.starts('[') => return Err(NpyError::Unsupported(reader.rest.trim().to_string())),
                "descr" => descr.replace(reader.string()?.to_string()).is_some(),
                "fortran_order" => fortran.replace(reader.bool()?).is_some(),
                "shape" => shape.replace(reader.tuple()?).is_some(),
                other => return Err(NpyError::Header(format!("unknown key `{other}`"))),
            };
            if again {
                return Err(NpyError::Header(format!("key `{key}` is there twice")));
            }
            if !reader.take(',') {
                reader.expect('}')?;
                break;
            }
        }
        if !reader.rest.trim().is_empty() {
            return Err(NpyError::Header("there is more after its dictionary".to_string()));
        }
        let missing = |key: &str| NpyError::Header(format!("key `{key}` is missing"));
        Ok(Header {
            descr: descr.ok_or_else(|| missing("descr"))?,
            fortran: fortran.ok_or_else(|| missing("fortran_order"))?,
            shape: shape.ok_or_else(|| missing("shape"))?,
        })
    }
}

impl<'a> HeaderParser<'a> {
    fn skip(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn starts(&mut self, c: char) -> bool {
        self.skip();
        self.rest.starts_with(c)
    }

    fn take(&mut self, c: char) -> bool {
        self.skip();
        let rest = self.rest.strip_prefix(c);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, c: char) -> Result<(), NpyError> {
        if self.take(c) { Ok(()) } else { Err(self.unexpected(&format!("`{c}`"))) }
    }

    fn unexpected(&self, wanted: &str) -> NpyError {
        let found: String = self.rest.chars().take(20).collect();
        NpyError::Header(format!("expected {wanted}, found {found:?}"))
    }

    fn string(&mut self) -> Result<&'a str, NpyError> {
        let quote = if self.take('\'') {
            '\''
        } else if self.take('"') {
            '"'
        } else {
            return Err(self.unexpected("a string"));
        };
        let (text, rest) = self.rest.split_once(quote).ok_or_else(|| self.unexpected("the end of a string"))?;
        if text.contains('\\') {
            return Err(NpyError::Header("a string with escapes".to_string()));
        }
        self.rest = rest;
        Ok(text)
    }

    fn bool(&mut self) -> Result<bool, NpyError> {
        self.skip();
        for (text, value) in [("True", true), ("False", false)] {
            if let Some(rest) = self.rest.strip_prefix(text) {
                self.rest = rest;
                return Ok(value);
            }
        }
        Err(self.unexpected("True or False"))
    }

    fn tuple(&mut self) -> Result<Vec<usize>, NpyError> {
        self.expect('(')?;
        let mut extents = Vec::new();
        while !self.take(')') {
            self.skip();
            let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
            let (digits, rest) = self.rest.split_at(end);
            let extent = digits.parse().map_err(|_| self.unexpected("an extent"))?;
            // Python 2 wrote long integers with a suffix.
            self.rest = rest.strip_prefix('L').unwrap_or(rest);
            extents.push(extent);
            if extents.len() > MAX_RANK {
                return Err(NpyError::Header(format!("more than {MAX_RANK} axes")));
            }
            if !self.take(',') {
                if extents.len() == 1 {
                    return Err(self.unexpected("`,`"));
                }
                self.expect(')')?;
                break;
            }
        }
        Ok(extents)
    }
}
