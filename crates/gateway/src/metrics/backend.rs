//! What the shared store says of itself, read when someone asks.

use std::fmt::Error;
use std::sync::Arc;
use std::time::SystemTime;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;
use tollgate_core::breaker::Status;
use tollgate_redis::{LATENCIES, Redis, Stats};

/// The numbers of a shared store. Its labels come from its servers and from lists.
#[derive(Debug)]
pub(super) struct Backend(pub(super) Arc<Redis>);

impl Collector for Backend {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), Error> {
        let stats = self.0.stats();
        decisions(&stats, &mut encoder)?;
        errors(&stats, &mut encoder)?;
        servers(&stats, &mut encoder)?;
        certificates(&stats, &mut encoder)?;
        latency(&stats, &mut encoder)
    }
}

fn decisions(stats: &Stats, encoder: &mut DescriptorEncoder<'_>) -> Result<(), Error> {
    let help = "Decisions by who made them: servers, this process by a refusal it remembers, by a \
        lease or alone, or nobody";
    let mut family =
        encoder.encode_descriptor("backend_decisions", help, None, MetricType::Counter)?;
    for (by, count) in [
        ("servers", stats.decided),
        ("remembered", stats.remembered),
        ("lease", stats.leased),
        ("alone", stats.degraded),
        ("nobody", stats.failed),
    ] {
        let labels = [("by", by)];
        let mut metric = family.encode_family(&labels)?;
        metric.encode_counter::<[(&str, &str); 0], _, u64>(&count, None)?;
    }
    let help = "Values that were no states of a budget and were taken for fresh ones";
    counter(encoder, "backend_unread_values", help, stats.unread)
}

fn errors(stats: &Stats, encoder: &mut DescriptorEncoder<'_>) -> Result<(), Error> {
    let help = "Calls that failed, by what was wrong";
    let mut family =
        encoder.encode_descriptor("backend_errors", help, None, MetricType::Counter)?;
    for (class, count) in &stats.faults {
        let labels = [("backend", "redis"), ("class", *class)];
        let mut metric = family.encode_family(&labels)?;
        metric.encode_counter::<[(&str, &str); 0], _, u64>(count, None)?;
    }
    let help = "Calls after which nobody knows whether they charged";
    counter(encoder, "outcome_unknown", help, stats.unknown)
}

fn servers(stats: &Stats, encoder: &mut DescriptorEncoder<'_>) -> Result<(), Error> {
    let help = "Whether calls flow to a server: 0 they do, 1 some try, 2 none";
    let mut family = encoder.encode_descriptor("backend_state", help, None, MetricType::Gauge)?;
    for server in &stats.servers {
        let state = match (server.connected, server.status) {
            (false, _) | (true, Status::Open) => 2,
            (true, Status::HalfOpen) => 1,
            (true, Status::Closed) => 0,
        };
        let labels = [("backend", "redis"), ("server", server.name.as_str())];
        family.encode_family(&labels)?.encode_gauge::<i64>(&state)?;
    }
    let help = "How often a server came back without its data";
    let mut family = encoder.encode_descriptor("state_lost", help, None, MetricType::Counter)?;
    for server in &stats.servers {
        let labels = [("backend", "redis"), ("server", server.name.as_str())];
        let mut metric = family.encode_family(&labels)?;
        metric.encode_counter::<[(&str, &str); 0], _, u64>(&server.lost, None)?;
    }
    Ok(())
}

fn certificates(stats: &Stats, encoder: &mut DescriptorEncoder<'_>) -> Result<(), Error> {
    let help = "When a certificate ends: that of a server, or the one that servers are shown";
    let name = "backend_certificate_expiry_timestamp_seconds";
    let servers =
        stats.servers.iter().map(|server| (server.name.as_str(), server.certificate_ends));
    let all = servers.chain([("client", stats.own_certificate_ends)]);
    let known: Vec<_> = all.filter_map(|(whose, ends)| Some((whose, ends?))).collect();
    if known.is_empty() {
        return Ok(());
    }
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for (whose, ends) in known {
        let ends = ends.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        let labels = [("backend", "redis"), ("whose", whose)];
        let ends = i64::try_from(ends).unwrap_or(i64::MAX);
        family.encode_family(&labels)?.encode_gauge::<i64>(&ends)?;
    }
    Ok(())
}

fn latency(stats: &Stats, encoder: &mut DescriptorEncoder<'_>) -> Result<(), Error> {
    let bounds = LATENCIES.iter().map(|bound| bound.as_secs_f64()).chain([f64::MAX]);
    let buckets: Vec<_> = bounds.zip(stats.latencies).collect();
    let count = stats.latencies.iter().sum();
    let help = "What calls to servers took";
    let mut family =
        encoder.encode_descriptor("backend_latency_seconds", help, None, MetricType::Histogram)?;
    let sum = stats.latency_sum.as_secs_f64();
    let labels = [("backend", "redis")];
    let mut metric = family.encode_family(&labels)?;
    metric.encode_histogram::<[(&str, &str); 0]>(sum, count, &buckets, None)
}

fn counter(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    count: u64,
) -> Result<(), Error> {
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
    let labels = [("backend", "redis")];
    let mut metric = family.encode_family(&labels)?;
    metric.encode_counter::<[(&str, &str); 0], _, u64>(&count, None)
}

#[cfg(test)]
mod tests {
    use tollgate_redis::Class;

    #[test]
    fn the_page_tells_what_every_class_means() {
        let page = include_str!("../../docs/server.md");
        for class in Class::ALL {
            let row = format!("| `{}` | {} |", class.name(), class.sentence());
            assert!(page.contains(&row), "missing: {row}");
        }
    }
}
