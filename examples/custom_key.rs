//! Keys of your own: a budget per tenant and endpoint, told apart whatever the names contain.
//! `cargo run --example custom_key`

use tollgate::{Key, Limit, Limiter};

/// Whose budget: the tenant's, for one endpoint.
struct Budget<'a> {
    tenant: &'a str,
    endpoint: &'a str,
}

impl Budget<'_> {
    /// Length first, so that ("a", "b:c") and ("a:b", "c") stay two budgets.
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.tenant.len().to_be_bytes().to_vec();
        bytes.extend(self.tenant.as_bytes());
        bytes.extend(self.endpoint.as_bytes());
        bytes
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let limiter: Limiter = Limiter::new([Limit::new("endpoint", "2/second".parse()?)?]);

    let reports = Budget { tenant: "acme", endpoint: "reports" };
    let search = Budget { tenant: "acme", endpoint: "search" };
    for budget in [&reports, &reports, &reports, &search] {
        let decision = limiter.check(Key::Bytes(&budget.bytes()));
        println!("{}/{}: allowed {}", budget.tenant, budget.endpoint, decision.is_allowed());
    }

    // A row's id is a key as it is.
    println!("user 7: allowed {}", limiter.check(7_u64).is_allowed());
    Ok(())
}
