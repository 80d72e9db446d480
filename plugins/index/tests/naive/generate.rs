//! Random statements, with arrays that fit them most of the time.

use super::numbers::Num;
use super::oracle::Arr;
use rewright::DType;
use std::collections::BTreeMap;

/// The dtypes of arrays of positions, the signed ones first.
const POSITIONS: [DType; 8] =
    [DType::I64, DType::I32, DType::I16, DType::I8, DType::U64, DType::U32, DType::U16, DType::U8];

pub struct Generated {
    pub text: String,
    pub arrays: BTreeMap<String, Arr>,
}

struct Generator {
    random: fastrand::Rng,
    arrays: BTreeMap<String, Arr>,
    /// The range that each index is meant to have.
    ranges: BTreeMap<String, (i64, i64)>,
    /// Indices that some plain position or one-index position has.
    anchored: Vec<String>,
    /// Floats are whole numbers, so that sums have one value in every order.
    is_whole: bool,
    scoped: usize,
}

pub fn statement(seed: u64) -> Generated {
    let mut random = fastrand::Rng::with_seed(seed);
    let is_whole = random.bool();
    let mut generator = Generator {
        random,
        arrays: BTreeMap::new(),
        ranges: BTreeMap::new(),
        anchored: Vec::new(),
        is_whole,
        scoped: 0,
    };
    generator.statement()
}

impl Generator {
    fn one<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.random.usize(0..items.len())]
    }

    fn chance(&mut self, percent: u8) -> bool {
        self.random.u8(0..100) < percent
    }

    /// A new index with a range.
    fn index(&mut self, name: &str) {
        let extent = match self.chance(60) {
            true => self.one(&[1, 2, 3, 4]),
            // Rows of 16 elements and more are reduced by themselves.
            false if self.chance(12) => 17,
            false => self.one(&[0, 1, 7, 8, 9]),
        };
        let lo = if self.chance(75) { 0 } else { self.random.i64(-2..4) };
        self.ranges.insert(name.to_string(), (lo, lo + extent - 1));
    }

    /// An array with these bounds along each dim.
    fn array(&mut self, bounds: &[(i64, i64)], is_float: bool) -> String {
        let name = format!("{}{}", if is_float { "f" } else { "x" }, self.arrays.len());
        let shape: Vec<usize> = bounds.iter().map(|(lo, hi)| (hi - lo + 1).max(0) as usize).collect();
        let count = shape.iter().product();
        let data = (0..count).map(|_| self.number(is_float)).collect();
        let first = bounds.iter().map(|(lo, _)| *lo).collect();
        self.arrays.insert(name.clone(), Arr { shape, first, data, is_float, positions: None });
        name
    }

    fn number(&mut self, is_float: bool) -> Num {
        let n = self.random.i64(-4..6);
        match is_float {
            false => Num::I(n),
            true if self.is_whole => Num::F(n as f64),
            true if self.chance(2) => Num::F(self.one(&[f64::NAN, f64::INFINITY, -0.0])),
            true => Num::F(n as f64 + self.random.f64()),
        }
    }

    /// The bounds of a dim that hold these positions; rarely others.
    fn bounds(&mut self, lo: i64, hi: i64) -> (i64, i64) {
        let first = if self.chance(85) { 0 } else { lo };
        let hi = if self.chance(97) { hi } else { hi + self.random.i64(-1..3) };
        (if lo < 0 { lo } else { first }, hi)
    }

    /// A position of some indices, and the bounds of its dim.
    fn position(&mut self, names: &[String]) -> (String, (i64, i64)) {
        let name = names[self.random.usize(0..names.len())].clone();
        let (lo, hi) = self.ranges[&name];
        let hi_or_lo = hi.max(lo);
        match self.random.u8(0..20) {
            // Plain.
            0..=6 => {
                self.anchored.push(name.clone());
                // All elements, and no others.
                (name, (lo, hi))
            }
            // One index, scaled and shifted.
            7..=10 => {
                let (c, d) = (self.one(&[1, 1, 1, -1, 2, 3, -2]), self.random.i64(-2..4));
                let (a, b) = (c * lo + d, c * hi_or_lo + d);
                let text = match (c, d) {
                    (1, 0) => format!("{name}+0"),
                    (1, d) => format!("{name}+{d}").replace("+-", "-"),
                    (c, 0) => format!("{c}{name}"),
                    (c, d) => format!("{c}{name}+{d}").replace("+-", "-"),
                };
                self.anchored.push(name);
                (text, self.bounds(a.min(b), a.max(b)))
            }
            // Two indices.
            11..=13 => {
                let other = names[self.random.usize(0..names.len())].clone();
                if other == name {
                    return self.position(names);
                }
                let (c, d) = (self.one(&[1, 1, 2, -1]), self.one(&[1, 1, -1, 2]));
                let (olo, ohi) = self.ranges[&other];
                let ohi = ohi.max(olo);
                let all = [c * lo + d * olo, c * lo + d * ohi, c * hi_or_lo + d * olo, c * hi_or_lo + d * ohi];
                let (least, most) = (*all.iter().min().expect("four"), *all.iter().max().expect("four"));
                let shift = if least < 0 && self.chance(60) { -least } else { 0 };
                let text =
                    format!("{c}*{name}+{d}*{other}+{shift}").replace("1*", "").replace("+-", "-").replace("+0", "");
                let bounds = self.bounds(least + shift, most + shift);
                (text, bounds)
            }
            // Modes.
            14..=16 => {
                let text = match self.random.u8(0..5) {
                    0 => format!("mod({name}+{})", self.random.i64(0..4)),
                    1 => format!("clamp({name}-{})", self.random.i64(0..4)),
                    2 => format!("pad({name})"),
                    3 => {
                        let by = self.random.i64(0..3);
                        return (format!("pad({name}-{by},{by})"), (0, (hi - 2 * by).max(0)));
                    }
                    _ => format!("pad(2{name},1,2)"),
                };
                (text, (0, self.random.i64(0..5)))
            }
            // Gathers.
            17..=18 => {
                self.anchored.push(name.clone());
                let positions = self.array(&[(lo, hi)], false);
                let most = self.random.i64(1..5);
                let is_negative = self.chance(20);
                let values: Vec<Num> = {
                    let count = self.arrays[&positions].data.len();
                    (0..count).map(|_| Num::I(self.random.i64(if is_negative { -2 } else { 0 }..most + 1))).collect()
                };
                let found: Vec<i64> = values.iter().map(|n| if let Num::I(n) = n { *n } else { 0 }).collect();
                let dtypes = if is_negative { &POSITIONS[..4] } else { &POSITIONS[..] };
                let dtype = Some(self.one(dtypes));
                let own = self.arrays.get_mut(&positions).expect("made");
                (own.data, own.positions) = (values, dtype);
                let (least, most) =
                    (found.iter().min().copied().unwrap_or(0), found.iter().max().copied().unwrap_or(0));
                let c = self.one(&[1, 1, 1, 2, -1]);
                let (a, b) = (c * least, c * most);
                let text = match c {
                    1 => format!("{positions}[{name}]"),
                    c => format!("{c}*{positions}[{name}]"),
                };
                match self.random.u8(0..4) {
                    0 => (format!("clamp({text})"), (0, self.random.i64(0..4))),
                    1 => {
                        let d = self.random.i64(0..3);
                        let bounds = self.bounds(a.min(b) + d, a.max(b) + d);
                        (format!("{text}+{d}"), bounds)
                    }
                    _ => {
                        let bounds = self.bounds(a.min(b), a.max(b));
                        (text, bounds)
                    }
                }
            }
            // Fixed.
            _ => {
                let extent = self.random.i64(1..4);
                let text = self.one(&["0", "end", "begin", "end-begin"]);
                (text.to_string(), (0, extent - 1))
            }
        }
    }

    fn read(&mut self, names: &[String]) -> String {
        let rank = self.one(&[1, 1, 1, 2, 2, 3]);
        let (mut texts, mut bounds) = (Vec::new(), Vec::new());
        for _ in 0..rank {
            let (text, own) = self.position(names);
            texts.push(text);
            bounds.push(own);
        }
        let is_float = self.chance(50);
        let name = self.array(&bounds, is_float);
        format!("{name}[{}]", texts.join(", "))
    }

    fn term(&mut self, names: &[String], depth: usize) -> String {
        if depth == 0 || self.chance(30) {
            return match self.random.u8(0..10) {
                0 => names[self.random.usize(0..names.len())].clone(),
                1 => self.random.i64(0..4).to_string(),
                _ => self.read(names),
            };
        }
        let inner = |this: &mut Self| this.term(names, depth - 1);
        match self.random.u8(0..14) {
            0..=3 => format!("{} * {}", inner(self), inner(self)),
            4..=5 => format!("({} + {})", inner(self), inner(self)),
            6 => format!("({} - {})", inner(self), inner(self)),
            7 => format!("min({}, {})", inner(self), inner(self)),
            8 => format!("max({}, {})", inner(self), inner(self)),
            9 => format!("abs({})", inner(self)),
            10 => format!("({} < {})", inner(self), inner(self)),
            11 if !self.is_whole => format!("({} / {})", inner(self), inner(self)),
            12 if self.scoped < 2 => {
                let own = ["p", "q"][self.scoped].to_string();
                self.scoped += 1;
                let extent = self.one(&[1, 2, 3, 7]);
                self.ranges.insert(own.clone(), (0, extent - 1));
                let mut all = names.to_vec();
                all.push(own.clone());
                let body = format!("{} * {}", self.read(std::slice::from_ref(&own)), self.term(&all, depth - 1));
                let op = self.one(&["sum", "sum", "max", "prod"]);
                let range = if self.chance(50) { format!(" in 0..{extent}") } else { String::new() };
                format!("{op}[{own}{range}]({body})")
            }
            13 => format!("({} < {} ? {} : {})", inner(self), inner(self), inner(self), inner(self)),
            _ => format!("-{}", inner(self)),
        }
    }

    fn statement(&mut self) -> Generated {
        let left_count = self.one(&[0, 1, 1, 2, 2]);
        let reduced_count = self.one(&[0, 1, 1, 2]).max(usize::from(left_count == 0));
        let left: Vec<String> = ["i", "j"][..left_count].iter().map(|name| (*name).to_string()).collect();
        let reduced: Vec<String> = ["k", "l"][..reduced_count].iter().map(|name| (*name).to_string()).collect();
        let all: Vec<String> = left.iter().chain(&reduced).cloned().collect();
        all.iter().for_each(|name| self.index(name));
        let depth = self.one(&[1, 1, 2, 2, 3]);
        let mut right = self.term(&all, depth);
        // Every reduced index occurs.
        for name in &reduced {
            let own = self.read(std::slice::from_ref(name));
            right = format!("{right} * {own}");
        }
        let op = self.one(&["", "", "", "max", "min", "*"]);
        let mut assign = ":=";
        let mut target = String::from("T");
        if left_count > 0 {
            let kind = self.random.u8(0..10);
            let mut texts = Vec::new();
            match kind {
                // A new array.
                0..=5 => {
                    for name in &left {
                        let (lo, _) = self.ranges[name];
                        texts.push(if lo != 0 || self.chance(20) { format!("{name}+_") } else { name.clone() });
                    }
                    if self.chance(15) {
                        texts.push("_".into());
                    }
                    if self.chance(8) {
                        texts.push(left[0].clone());
                    }
                }
                6 => {
                    // A scatter.
                    let (lo, hi) = self.ranges[&left[0]];
                    let positions = self.array(&[(lo, hi)], false);
                    let count = self.arrays[&positions].data.len();
                    let values = (0..count).map(|_| Num::I(self.random.i64(0..4))).collect();
                    self.arrays.get_mut(&positions).expect("made").data = values;
                    texts.push(format!("{positions}[{}]", left[0]));
                    texts.extend(
                        left[1..]
                            .iter()
                            .map(|name| if self.ranges[name].0 == 0 { name.clone() } else { format!("{name}+_") }),
                    );
                    self.anchored.push(left[0].clone());
                    if self.chance(60) {
                        assign = self.one(&["=", "+=", "*="]);
                        let mut bounds = vec![(0, 4)];
                        for name in &left[1..] {
                            bounds.push(self.ranges[name]);
                        }
                        texts[1..].iter_mut().for_each(|text| *text = text.trim_end_matches("+_").to_string());
                        let is_float = self.chance(70);
                        target = self.array(&bounds, is_float);
                    }
                }
                _ => {
                    // Into an array.
                    assign = self.one(&["=", "=", "+=", "-=", "*=", "^="]);
                    let mut bounds = Vec::new();
                    for name in &left {
                        let (lo, hi) = self.ranges[name];
                        if self.chance(60) {
                            texts.push(name.clone());
                            bounds.push((lo, hi));
                        } else {
                            let (c, d) = (self.one(&[1, 1, 2, -1]), self.random.i64(0..3));
                            let (a, b) = (c * lo + d, c * hi.max(lo) + d);
                            texts.push(format!("{c}*{name}+{d}").replace("1*", "").replace("+0", ""));
                            bounds.push((a.min(b).min(0), a.max(b) + self.random.i64(0..2)));
                        }
                    }
                    if left_count == 2 && self.chance(20) {
                        texts = vec!["i+j".into()];
                        let ((a, b), (c, d)) = (self.ranges["i"], self.ranges["j"]);
                        bounds = vec![((a + c).min(0), b.max(a) + d.max(c))];
                    }
                    let is_float = self.chance(70);
                    target = self.array(&bounds, is_float);
                }
            }
            target = format!("{target}[{}]", texts.join(", "));
        }
        let op = match assign {
            "=" | ":=" if reduced_count > 0 => op,
            "^=" => self.one(&["max", "min"]),
            _ => "",
        };
        let prefix = if op.is_empty() { String::new() } else { format!("({op}) ") };
        let mut text = format!("{prefix}{target} {assign} {right}");
        if reduced_count > 0 && self.chance(15) {
            let own: Vec<String> = left.clone();
            let finish = match own.is_empty() || self.chance(50) {
                true => "abs(_) + 1".to_string(),
                false => format!("_ * {}", self.read(&own)),
            };
            text.push_str(&format!(" |> {finish}"));
        }
        for name in &all {
            if !self.anchored.contains(name) || self.chance(15) {
                let (lo, hi) = self.ranges[name];
                text.push_str(&format!(" ({name} in {lo}..{})", hi + 1));
            }
        }
        if !self.is_whole {
            text.push_str(" strict");
        }
        if text.contains("pad(") && self.chance(40) {
            text.push_str(" pad=3");
        }
        if reduced_count > 0 && matches!(assign, ":=" | "=") && self.chance(15) {
            text.push_str(" init=2");
        }
        let mut origins = Vec::new();
        for (name, array) in &self.arrays {
            if array.first.iter().any(|first| *first != 0) {
                let list: Vec<String> = array.first.iter().map(i64::to_string).collect();
                origins.push(format!("origin {name}[{}]", list.join(", ")));
            }
        }
        if !origins.is_empty() {
            text = format!("set {}\n{text}", origins.join(", "));
        }
        Generated { text, arrays: std::mem::take(&mut self.arrays) }
    }
}
