//! What steps take.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use clap::builder::RangedU64ValueParser;

/// The ends of steps after a beginning. The first few steps are not counted.
#[derive(Clone)]
pub struct Steps {
    warm_up: usize,
    ends: Arc<Mutex<Vec<Instant>>>,
}

impl Steps {
    pub fn new(warm_up: usize) -> Self {
        let ends = Arc::new(Mutex::new(vec![Instant::now()]));
        Self { warm_up, ends }
    }

    pub fn end(&self) {
        self.ends.lock().unwrap().push(Instant::now());
    }
}

/// The median and the mean: steps that nobody waits for are paid by later ones.
impl fmt::Display for Steps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ends = self.ends.lock().unwrap();
        let counted = &ends[self.warm_up..];
        let milliseconds = |a: Instant, b: Instant| (b - a).as_secs_f64() * 1e3;
        let mut each: Vec<f64> = counted
            .windows(2)
            .map(|w| milliseconds(w[0], w[1]))
            .collect();
        let mean = milliseconds(counted[0], counted[counted.len() - 1]) / each.len() as f64;
        write!(
            f,
            "{:.3} ms a step, {mean:.3} on average",
            median(&mut each)
        )
    }
}

pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Of a number of steps.
pub fn at_least_one() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..)
}
