//! The frame of a chart, and shapes in it.
//!
//! A chart is as wide as the page: its texts stand at shares of the width in letters of one size, and
//! only the shapes, in a frame of their own, are stretched.

use std::fmt::{self, Display, Write};

use super::page::Text;

/// Begins a chart of so many units across and 1,000 up, `height` pixels high with its margins. Who cannot
/// see it is told the title and the description.
pub(super) fn begin(
    svg: &mut String,
    (class, height): (&str, u32),
    id: &dyn Display,
    title: &str,
    description: &str,
) -> fmt::Result {
    writeln!(
        svg,
        "<svg class=\"chart{class}\" height=\"{height}\" role=\"img\" \
         aria-labelledby=\"{id}-t {id}-d\"><title id=\"{id}-t\">{}</title>\
         <desc id=\"{id}-d\">{}</desc>",
        Text(title),
        Text(description)
    )
}

/// Begins the frame of its shapes.
pub(super) fn begin_shapes(svg: &mut String, across: usize) -> fmt::Result {
    write!(
        svg,
        "<svg viewBox=\"0 0 {} 1000\" preserveAspectRatio=\"none\" aria-hidden=\"true\">",
        across.max(1)
    )
}

pub(super) fn end(svg: &mut String) -> fmt::Result {
    writeln!(svg, "</svg>")
}

/// The steps of values, each between 0 and 1, one for each unit across.
pub(super) struct Steps<V>(pub(super) V);

impl<V: Iterator<Item = f64> + Clone> Display for Steps<V> {
    /// As a path from the left to the right. What is equal to its neighbour is drawn with it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut last = None;
        let mut count = 0;
        for (nth, value) in self.0.clone().enumerate() {
            let y = format!("{:.0}", (1.0 - value.clamp(0.0, 1.0)) * 1_000.0);
            match &last {
                None => write!(f, "M0 {y}")?,
                Some(last) if *last == y => {}
                Some(_) => write!(f, "H{nth}V{y}")?,
            }
            (last, count) = (Some(y), nth + 1);
        }
        write!(f, "H{count}")
    }
}

/// Writes what lies below steps.
pub(super) fn write_area<V>(svg: &mut String, class: &str, values: V) -> fmt::Result
where
    V: Iterator<Item = f64> + Clone,
{
    if values.clone().any(|value| value > 0.0) {
        write!(svg, "<path class=\"{class}\" d=\"{}V1000H0Z\"/>", Steps(values))?;
    }
    Ok(())
}

/// Writes the steps as a line.
pub(super) fn write_line<V>(svg: &mut String, class: &str, values: V) -> fmt::Result
where
    V: Iterator<Item = f64> + Clone,
{
    write!(svg, "<path class=\"{class}\" d=\"{}\"/>", Steps(values))
}
