//! Both runs side by side, as an SVG that follows the reader's light or dark.

use std::fmt::Write;
use std::ops::Range;
use std::time::Duration;

use crate::seconds::{Counts, STANDSTILL, SURGE};
use crate::service::CAPACITY;

const STYLE: &str = "\
text { font: 12px system-ui, sans-serif; fill: #1f2328 }
.title { font-size: 14px; font-weight: 600 }
.scale, .note { fill: #59636e }
.grid { stroke: #d1d9e0; stroke-width: 1 }
.surge { fill: #818b98; fill-opacity: .12 }
.still { fill: #818b98; fill-opacity: .25 }
.line { fill: none; stroke-width: 2; stroke-linejoin: round }
.asked { stroke: #59636e; stroke-dasharray: 5 3 }
.reached { stroke: #bc4c00 }
.useful { stroke: #0969da }
.area { fill: #0969da; fill-opacity: .18 }
.paper { fill: #ffffff }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.scale, .note { fill: #9198a1 }
.grid { stroke: #3d444d }
.asked { stroke: #9198a1 }
.reached { stroke: #f0883e }
.useful { stroke: #58a6ff }
.area { fill: #58a6ff; fill-opacity: .22 }
.paper { fill: #0d1117 }
}";

/// The picture, from what was counted.
pub(crate) fn draw(with: &Counts, without: &Counts) -> String {
    let mut svg = Svg::new();
    for (left, title, counts) in
        [(60.0, "Timeouts and retries", without), (430.0, "An outbound limit and a breaker", with)]
    {
        let asked: u32 = counts.asked.iter().sum();
        let useful: u32 = counts.useful.iter().sum();
        svg.text(left, 24.0, "title", title);
        let calls = Panel { left, top: 64.0, height: 130.0, most: 6_000 };
        svg.frame(&calls, 2_000);
        svg.text(left, 54.0, "note", "calls a second: asked of A (dashes), made to B");
        svg.steps(&calls, "line reached", &counts.reached);
        svg.steps(&calls, "line asked", &counts.asked);
        let answers = Panel { left, top: 250.0, height: 130.0, most: 1_000 };
        svg.frame(&answers, CAPACITY);
        let said = format!("useful answers a second: {useful} of {asked} calls");
        svg.text(left, 240.0, "note", &said);
        svg.area(&answers, &counts.useful);
        svg.steps(&answers, "line useful", &counts.useful);
    }
    svg.finish()
}

const WIDTH: f64 = 310.0;

struct Panel {
    left: f64,
    top: f64,
    height: f64,
    most: u32,
}

impl Panel {
    fn x(&self, seconds: f64) -> f64 {
        self.left + seconds * WIDTH / 30.0
    }

    fn y(&self, count: u32) -> f64 {
        self.top + self.height * (1.0 - f64::from(count) / f64::from(self.most))
    }

    fn bottom(&self) -> f64 {
        self.top + self.height
    }
}

struct Svg(String);

impl Svg {
    fn new() -> Svg {
        let head = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 760 434\" width=\"760\" \
                    height=\"434\" role=\"img\" aria-label=\"Useful answers a second of a service that is asked \
                    for twice what it can do, with and without an outbound limit and a breaker\">";
        Svg(format!(
            "{head}\n<style>\n{STYLE}\n</style>\n<rect class=\"paper\" width=\"760\" height=\"434\"/>\n"
        ))
    }

    fn add(&mut self, line: std::fmt::Arguments<'_>) {
        // A string takes all that is written to it.
        let _ = self.0.write_fmt(line);
        self.0.push('\n');
    }

    fn text(&mut self, x: f64, y: f64, class: &str, text: &str) {
        self.add(format_args!("<text x=\"{x:.0}\" y=\"{y:.0}\" class=\"{class}\">{text}</text>"));
    }

    /// The scales, and when what happens.
    fn frame(&mut self, panel: &Panel, step: u32) {
        for (span, class, told) in [(SURGE, "surge", "surge"), (STANDSTILL, "still", "B stands")] {
            let Range { start, end } = span;
            let [from, to] = [start, end].map(|at: Duration| panel.x(at.as_secs_f64()));
            let (top, wide, height) = (panel.top, to - from, panel.height);
            self.add(format_args!(
                "<rect x=\"{from:.1}\" y=\"{top:.1}\" width=\"{wide:.1}\" height=\"{height:.1}\" \
                 class=\"{class}\"><title>{told}</title></rect>"
            ));
        }
        for count in (0..=panel.most).step_by(usize::try_from(step).unwrap_or(1)) {
            let (left, right, y) = (panel.left, panel.left + WIDTH, panel.y(count));
            self.add(format_args!("<path d=\"M{left:.1} {y:.1}H{right:.1}\" class=\"grid\"/>"));
            let (x, y) = (left - 6.0, y + 4.0);
            self.add(format_args!(
                "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"end\" class=\"scale\">{count}</text>"
            ));
        }
        let y = panel.bottom() + 16.0;
        for (seconds, told) in
            [(0.0, "0"), (5.0, "5 s"), (10.0, "10"), (13.0, "13"), (22.0, "22"), (30.0, "30 s")]
        {
            let x = panel.x(seconds);
            self.add(format_args!(
                "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\" class=\"scale\">{told}</text>"
            ));
        }
    }

    fn steps(&mut self, panel: &Panel, class: &str, counts: &[u32]) {
        let path = path(panel, counts);
        self.add(format_args!("<path d=\"M{}\" class=\"{class}\"/>", &path[1..]));
    }

    fn area(&mut self, panel: &Panel, counts: &[u32]) {
        let (left, right, bottom) = (panel.left, panel.left + WIDTH, panel.bottom());
        let path = path(panel, counts);
        self.add(format_args!(
            "<path d=\"M{left:.1} {bottom:.1}{path}L{right:.1} {bottom:.1}Z\" class=\"area\"/>"
        ));
    }

    fn finish(mut self) -> String {
        self.text(60.0, 422.0, "note", "Shaded: A is asked for 1,000 calls a second, B can do 500. From 10 to 13 s B takes calls and does nothing.");
        self.0 + "</svg>\n"
    }
}

/// A line through the counts, each over its second.
fn path(panel: &Panel, counts: &[u32]) -> String {
    let mut path = String::new();
    let mut second = 0.0;
    for &count in counts {
        let (y, from, to) =
            (panel.y(count.min(panel.most)), panel.x(second), panel.x(second + 1.0));
        path += &format!("L{from:.1} {y:.1}H{to:.1}");
        second += 1.0;
    }
    path
}
