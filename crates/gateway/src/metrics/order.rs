//! One order of lines, whatever order they were counted in.

/// The same page with the lines of each family in the order of their labels. Families stay where they
/// are, and so do the lines of one histogram among each other.
pub(super) fn in_order(page: &str) -> String {
    let mut ordered = String::with_capacity(page.len());
    let mut family: Vec<&str> = Vec::new();
    for line in page.split_inclusive('\n') {
        if line.starts_with('#') {
            put(&mut ordered, &mut family);
            ordered.push_str(line);
        } else {
            family.push(line);
        }
    }
    put(&mut ordered, &mut family);
    ordered
}

fn put(ordered: &mut String, family: &mut Vec<&str>) {
    // Stable, so that what has the same labels stays together in its order.
    family.sort_by_cached_key(|line| labels(line));
    ordered.extend(family.drain(..));
}

/// The labels of a line, but for the bound of a bucket.
fn labels(line: &str) -> Vec<&str> {
    let inner = line.split_once('{').and_then(|(_, rest)| rest.rsplit_once('}'));
    let labels = inner.map_or("", |(labels, _)| labels).split(',');
    labels.filter(|label| !label.starts_with("le=\"")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stand_by_labels_and_those_of_a_histogram_as_they_were() {
        let page = "# TYPE b counter\nb{x=\"2\"} 1\nb{x=\"1\"} 9\nb 4\n# TYPE a histogram\n\
                    a_sum{y=\"2\"} 1\na_bucket{le=\"5.0\",y=\"2\"} 1\na_bucket{le=\"+Inf\",y=\"2\"} 1\n\
                    a_sum{y=\"1\"} 1\na_bucket{le=\"5.0\",y=\"1\"} 1\na_bucket{le=\"+Inf\",y=\"1\"} 1\n# EOF\n";
        let ordered = "# TYPE b counter\nb 4\nb{x=\"1\"} 9\nb{x=\"2\"} 1\n# TYPE a histogram\n\
                       a_sum{y=\"1\"} 1\na_bucket{le=\"5.0\",y=\"1\"} 1\na_bucket{le=\"+Inf\",y=\"1\"} 1\n\
                       a_sum{y=\"2\"} 1\na_bucket{le=\"5.0\",y=\"2\"} 1\na_bucket{le=\"+Inf\",y=\"2\"} 1\n# EOF\n";
        assert_eq!(in_order(page), ordered);
        assert_eq!(in_order(ordered), ordered);
    }
}
