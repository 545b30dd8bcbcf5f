use rcgen::{CertificateParams, DnType, KeyPair, SanType};

use super::of;

fn shown(common: Option<&str>, names: Vec<SanType>) -> Option<String> {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    if let Some(common) = common {
        params.distinguished_name.push(DnType::CommonName, common);
    }
    params.subject_alt_names = names;
    let key = KeyPair::generate().unwrap();
    of(params.self_signed(&key).unwrap().der())
}

fn uri(text: &str) -> SanType {
    SanType::URI(text.try_into().unwrap())
}

fn host(text: &str) -> SanType {
    SanType::DnsName(text.try_into().unwrap())
}

fn mail(text: &str) -> SanType {
    SanType::Rfc822Name(text.try_into().unwrap())
}

#[test]
fn the_most_telling_name_is_the_identity() {
    let all = vec![mail("a@shop.test"), host("Cart.Shop.Test"), uri("spiffe://shop/cart")];
    assert_eq!(shown(Some("cart"), all.clone()).as_deref(), Some("spiffe://shop/cart"));
    assert_eq!(shown(Some("cart"), all[..2].to_vec()).as_deref(), Some("cart.shop.test"));
    assert_eq!(shown(Some("cart"), all[..1].to_vec()).as_deref(), Some("a@shop.test"));
    assert_eq!(shown(Some("cart"), vec![]).as_deref(), Some("cart"));
    let two = vec![uri("spiffe://shop/a"), uri("spiffe://shop/b")];
    assert_eq!(shown(None, two).as_deref(), Some("spiffe://shop/a"));
}

#[test]
fn a_certificate_without_a_name_has_no_identity() {
    assert_eq!(shown(None, vec![]), None);
    assert_eq!(shown(Some(""), vec![]), None);
    assert_eq!(shown(None, vec![SanType::IpAddress([10, 0, 0, 1].into())]), None);
    assert_eq!(of(b"none"), None);
}
