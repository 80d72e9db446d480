//! Printing of values.

use crate::array::{Array, Datum};
use std::fmt;

impl fmt::Display for Datum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Datum::Scalar(s) => write!(f, "{s}"),
            Datum::Array(a) => write!(f, "{a}"),
        }
    }
}

impl fmt::Display for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let elements: Vec<String> = self.iter().map(|x| x.to_string()).collect();
        write!(f, "[{}]", elements.join(" "))
    }
}
