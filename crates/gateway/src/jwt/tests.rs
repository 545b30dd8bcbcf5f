use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http::{HeaderMap, HeaderValue};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair,
    KeyPair, RSA_PKCS1_SHA256, RSA_PKCS1_SHA384, RSA_PKCS1_SHA512, RSA_PSS_SHA256, RSA_PSS_SHA384,
    RSA_PSS_SHA512, RsaKeyPair,
};
use serde_json::{Value, json};
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tollgate_core::{ManualClock, Span, Tick};
use tollgate_policy::config::{Reading, Source};

use super::*;

const NOW: u64 = 1_796_068_800;
const SECRET: &[u8] = b"a secret of 64 bytes, as long as the longest hash: 0123456789abc";
const RSA: &str = include_str!("tests/rsa.pem");
const RSA_PUBLIC: &str = include_str!("tests/rsa_public.pem");

/// Who signs.
enum Signer {
    Secret(&'static [u8]),
    Rsa(RsaKeyPair),
    Ecdsa(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

impl Signer {
    fn of(algorithm: Algorithm) -> Signer {
        let random = SystemRandom::new();
        let ecdsa = |curve| {
            let key = EcdsaKeyPair::generate_pkcs8(curve, &random).unwrap();
            Signer::Ecdsa(EcdsaKeyPair::from_pkcs8(curve, key.as_ref(), &random).unwrap())
        };
        match algorithm.family() {
            algorithm::Family::Secret => Signer::Secret(SECRET),
            algorithm::Family::Rsa => {
                let key = PrivatePkcs8KeyDer::from_pem_slice(RSA.as_bytes()).unwrap();
                Signer::Rsa(RsaKeyPair::from_pkcs8(key.secret_pkcs8_der()).unwrap())
            }
            algorithm::Family::P256 => ecdsa(&ECDSA_P256_SHA256_FIXED_SIGNING),
            algorithm::Family::P384 => ecdsa(&ECDSA_P384_SHA384_FIXED_SIGNING),
            algorithm::Family::Ed25519 => {
                let key = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
                Signer::Ed25519(Ed25519KeyPair::from_pkcs8(key.as_ref()).unwrap())
            }
        }
    }

    fn sign(&self, algorithm: Algorithm, text: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Signer::Secret(secret) => {
                let key = ring::hmac::Key::new(algorithm.hmac().unwrap(), secret);
                ring::hmac::sign(&key, text).as_ref().to_vec()
            }
            Signer::Rsa(key) => {
                let padding: &dyn ring::signature::RsaEncoding = match algorithm {
                    Algorithm::Rs256 => &RSA_PKCS1_SHA256,
                    Algorithm::Rs384 => &RSA_PKCS1_SHA384,
                    Algorithm::Rs512 => &RSA_PKCS1_SHA512,
                    Algorithm::Ps256 => &RSA_PSS_SHA256,
                    Algorithm::Ps384 => &RSA_PSS_SHA384,
                    _ => &RSA_PSS_SHA512,
                };
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(padding, &random, text, &mut signature).unwrap();
                signature
            }
            Signer::Ecdsa(key) => key.sign(&random, text).unwrap().as_ref().to_vec(),
            Signer::Ed25519(key) => key.sign(text).as_ref().to_vec(),
        }
    }

    /// Its public key in PEM, as openssl writes one.
    fn pem(&self) -> String {
        let (prefix, point): (&[u8], &[u8]) = match self {
            Signer::Secret(_) => panic!("a secret is not public"),
            Signer::Rsa(_) => return RSA_PUBLIC.to_owned(),
            Signer::Ecdsa(key) if key.public_key().as_ref().len() == 65 => (
                b"\x30\x59\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\
                  \x03\x01\x07\x03\x42\x00",
                key.public_key().as_ref(),
            ),
            Signer::Ecdsa(key) => (
                b"\x30\x76\x30\x10\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x05\x2b\x81\x04\x00\x22\
                  \x03\x62\x00",
                key.public_key().as_ref(),
            ),
            Signer::Ed25519(key) => {
                (b"\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00", key.public_key().as_ref())
            }
        };
        let der = STANDARD.encode([prefix, point].concat());
        format!("-----BEGIN PUBLIC KEY-----\n{der}\n-----END PUBLIC KEY-----\n")
    }

    /// Its public key as one of a set.
    fn jwk(&self, id: &str) -> Value {
        let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        match self {
            Signer::Secret(secret) => json!({"kty": "oct", "k": text(secret), "kid": id}),
            Signer::Rsa(key) => {
                let public = ring::rsa::PublicKeyComponents::<Vec<u8>>::from(key.public());
                json!({"kty": "RSA", "n": text(&public.n), "e": text(&public.e), "kid": id})
            }
            Signer::Ecdsa(key) => {
                let point = &key.public_key().as_ref()[1..];
                let (x, y) = point.split_at(point.len() / 2);
                let curve = if x.len() == 32 { "P-256" } else { "P-384" };
                json!({"kty": "EC", "crv": curve, "x": text(x), "y": text(y), "kid": id})
            }
            Signer::Ed25519(key) => {
                let point = text(key.public_key().as_ref());
                json!({"kty": "OKP", "crv": "Ed25519", "x": point, "kid": id})
            }
        }
    }
}

fn token_with(signer: &Signer, algorithm: Algorithm, header: &Value, claims: &Value) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", part(header), part(claims));
    let signature = URL_SAFE_NO_PAD.encode(signer.sign(algorithm, signed.as_bytes()));
    format!("{signed}.{signature}")
}

fn token(signer: &Signer, algorithm: Algorithm, claims: &Value) -> String {
    token_with(signer, algorithm, &json!({"alg": algorithm.name(), "typ": "JWT"}), claims)
}

fn good() -> Value {
    json!({"sub": "ann", "exp": NOW + 60, "plan": "pro", "seats": 12, "admin": true, "list": []})
}

fn jwt(algorithms: &[Algorithm], keys: Vec<Key>) -> Jwt {
    let clock = Box::new(ManualClock::at(Tick::EPOCH.after(Span::from_secs(NOW))));
    let rules = Rules {
        header: AUTHORIZATION,
        algorithms: algorithms.to_vec(),
        keys,
        issuer: None,
        audiences: Vec::new(),
        leeway: 30,
        clock,
    };
    Jwt { rules: Arc::new(rules) }
}

fn by_secret() -> Jwt {
    jwt(&[Algorithm::Hs256], vec![Key::secret(SECRET)])
}

fn bearing(token: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.append(AUTHORIZATION, HeaderValue::from_str(&format!("Bearer {token}")).unwrap());
    headers
}

fn why(jwt: &Jwt, token: &str) -> Option<Disbelief> {
    jwt.claims(&bearing(token))?.err()
}

fn signed(claims: &Value) -> String {
    token(&Signer::Secret(SECRET), Algorithm::Hs256, claims)
}

#[test]
fn a_token_of_each_algorithm_is_believed_by_its_key_and_by_no_other() {
    for (name, algorithm) in Algorithm::ALL {
        let signer = Signer::of(algorithm);
        let keys = || match &signer {
            Signer::Secret(secret) => vec![Key::secret(secret)],
            public => Key::from_pem(public.pem().as_bytes()).unwrap(),
        };
        let good = token(&signer, algorithm, &good());
        let claims = jwt(&[algorithm], keys()).claims(&bearing(&good)).unwrap().unwrap();
        assert_eq!((claims.get("sub"), claims.get("plan")), (Some("ann"), Some("pro")), "{name}");
        assert_eq!((claims.get("seats"), claims.get("admin")), (Some("12"), None), "{name}");

        if !matches!(signer, Signer::Secret(_)) {
            let set = json!({"keys": [{"kty": "oct", "k": "AAAA"}, signer.jwk("one")]});
            let keys = Key::from_set(set.to_string().as_bytes()).unwrap();
            assert_eq!(keys.len(), 1, "{name}");
            assert_eq!(why(&jwt(&[algorithm], keys), &good), None, "{name}");
        }
        for (other, others) in Algorithm::ALL.into_iter().filter(|(_, other)| *other != algorithm) {
            let unnamed = why(&jwt(&[others], keys()), &good);
            assert_eq!(unnamed, Some(Disbelief::Algorithm), "{name} where {other} is named");
            let header = json!({"alg": other});
            let lying = token_with(&signer, algorithm, &header, &self::good());
            let found = why(&jwt(&[others, algorithm], keys()), &lying);
            assert_eq!(found, Some(Disbelief::Signature), "{name} that says {other}");
        }
        if !matches!(algorithm.family(), algorithm::Family::Secret | algorithm::Family::Rsa) {
            let stranger = token(&Signer::of(algorithm), algorithm, &self::good());
            assert_eq!(why(&jwt(&[algorithm], keys()), &stranger), Some(Disbelief::Signature));
        }
    }
}

#[test]
fn the_public_key_is_no_secret_to_sign_with() {
    let keys = || Key::from_pem(RSA_PUBLIC.as_bytes()).unwrap();
    let der = URL_SAFE_NO_PAD.encode(RSA_PUBLIC);
    for secret in [RSA_PUBLIC.as_bytes(), RSA_PUBLIC.trim().as_bytes(), der.as_bytes()] {
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, secret);
        let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let text = format!("{}.{}", part(json!({"alg": "HS256"})), part(good()));
        let signature = URL_SAFE_NO_PAD.encode(ring::hmac::sign(&key, text.as_bytes()));
        let forged = format!("{text}.{signature}");
        assert_eq!(why(&jwt(&[Algorithm::Rs256], keys()), &forged), Some(Disbelief::Algorithm));
        let both = jwt(&[Algorithm::Rs256, Algorithm::Hs256], keys());
        assert_eq!(why(&both, &forged), Some(Disbelief::Signature));
    }
}

#[test]
fn an_unsigned_token_is_nobodys() {
    let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
    for none in ["none", "None", "NONE", "", "hs256"] {
        let unsigned = format!("{}.{}.", part(json!({"alg": none})), part(good()));
        assert_eq!(why(&by_secret(), &unsigned), Some(Disbelief::Algorithm), "{none}");
    }
    let stripped = format!("{}.{}.", part(json!({"alg": "HS256"})), part(good()));
    assert_eq!(why(&by_secret(), &stripped), Some(Disbelief::Signature));
}

#[test]
fn a_token_is_in_force_from_its_beginning_to_its_end_give_or_take_the_leeway() {
    for (claims, found) in [
        (json!({"exp": NOW - 29}), None),
        (json!({"exp": NOW - 30}), Some(Disbelief::Expired)),
        (json!({"exp": NOW + 1, "nbf": NOW + 30}), None),
        (json!({"exp": NOW + 1, "nbf": NOW + 31}), Some(Disbelief::Early)),
        (json!({"exp": NOW + 1, "nbf": "soon"}), Some(Disbelief::Early)),
        (json!({}), Some(Disbelief::Expired)),
        (json!({"exp": null}), Some(Disbelief::Expired)),
        (json!({"exp": (NOW + 60).to_string()}), Some(Disbelief::Expired)),
        (json!({"exp": -1}), Some(Disbelief::Expired)),
        (json!({"exp": 1e300}), Some(Disbelief::Expired)),
        (json!({"exp": 1_796_068_800.5}), None),
        (json!({"exp": u64::MAX}), None),
    ] {
        assert_eq!(why(&by_secret(), &signed(&claims)), found, "{claims}");
    }
}

#[test]
fn issuer_and_audience_have_to_be_the_ones_that_are_named() {
    let strict = |issuer: Option<&str>, audiences: &[&str]| {
        let Jwt { rules } = by_secret();
        let rules = Rules {
            issuer: issuer.map(str::to_owned),
            audiences: audiences.iter().map(|text| (*text).to_owned()).collect(),
            ..Arc::into_inner(rules).unwrap()
        };
        Jwt { rules: Arc::new(rules) }
    };
    let claims = |iss: Value, aud: Value| signed(&json!({"exp": NOW + 9, "iss": iss, "aud": aud}));
    let jwt = strict(Some("us"), &["api", "web"]);
    for (iss, aud, found) in [
        (json!("us"), json!("api"), None),
        (json!("us"), json!(["other", "web"]), None),
        (json!("them"), json!("api"), Some(Disbelief::Issuer)),
        (json!(null), json!("api"), Some(Disbelief::Issuer)),
        (json!(["us"]), json!("api"), Some(Disbelief::Issuer)),
        (json!("us"), json!("apis"), Some(Disbelief::Audience)),
        (json!("us"), json!([]), Some(Disbelief::Audience)),
        (json!("us"), json!(null), Some(Disbelief::Audience)),
    ] {
        assert_eq!(why(&jwt, &claims(iss.clone(), aud.clone())), found, "{iss} {aud}");
    }
    assert_eq!(why(&strict(None, &[]), &claims(json!(1), json!(2))), None);
}

#[test]
fn no_byte_of_a_token_can_be_another() {
    let good = signed(&good());
    assert_eq!(why(&by_secret(), &good), None);
    for at in 0..good.len() {
        for other in ["A", "B", ".", "=", "+", "/", " ", "%"] {
            let mut changed = good.clone();
            changed.replace_range(at..=at, other);
            if changed != good {
                assert!(why(&by_secret(), &changed).is_some(), "{other} at {at}");
            }
        }
    }
    for shape in [".", "..", "a.b", "a.b.c.d", &format!("{good}."), &format!("{good}=")] {
        assert!(why(&by_secret(), shape).is_some_and(|why| why != Disbelief::Expired), "{shape}");
    }
}

#[test]
fn what_has_to_be_understood_and_is_not_is_not_believed() {
    let header = json!({"alg": "HS256", "crit": ["b64"], "b64": false});
    let token = token_with(&Signer::Secret(SECRET), Algorithm::Hs256, &header, &good());
    assert_eq!(why(&by_secret(), &token), Some(Disbelief::Algorithm));
}

#[test]
fn a_key_that_is_named_is_the_one_that_signs() {
    let (one, two) = (Signer::of(Algorithm::Es256), Signer::of(Algorithm::Es256));
    let set = json!({"keys": [one.jwk("1"), two.jwk("2")]}).to_string();
    let jwt = jwt(&[Algorithm::Es256], Key::from_set(set.as_bytes()).unwrap());
    let named = |signer, id: &str| {
        let header = json!({"alg": "ES256", "kid": id});
        why(&jwt, &token_with(signer, Algorithm::Es256, &header, &good()))
    };
    assert_eq!((named(&one, "1"), named(&two, "2")), (None, None));
    assert_eq!(named(&one, "2"), Some(Disbelief::Signature));
    assert_eq!(named(&one, "3"), Some(Disbelief::Signature));
    assert_eq!(why(&jwt, &token(&two, Algorithm::Es256, &good())), None, "each is tried");
}

#[test]
fn only_one_header_with_one_token_is_looked_at() {
    let jwt = by_secret();
    let mut twice = bearing(&signed(&good()));
    twice.append(AUTHORIZATION, "Bearer x".parse().unwrap());
    assert_eq!(jwt.claims(&twice), Some(Err(Disbelief::Unclear)));
    assert_eq!(jwt.claims(&HeaderMap::new()), None);
    let mut basic = HeaderMap::new();
    basic.insert(AUTHORIZATION, "Basic YTpi".parse().unwrap());
    assert_eq!(jwt.claims(&basic), None, "no token");
    let mut small = HeaderMap::new();
    small.insert(AUTHORIZATION, format!("bearer   {}", signed(&good())).parse().unwrap());
    assert!(jwt.claims(&small).unwrap().is_ok());
    let long = signed(&json!({"exp": NOW + 60, "x": "x".repeat(MOST)}));
    assert_eq!(why(&jwt, &long), Some(Disbelief::Unclear));
}

fn read(text: &str) -> (bool, String) {
    let source = Source::new("limits.toml", text).unwrap();
    let reading = Reading::new(source, &|name| (name == "SHORT").then(|| "short".to_owned()));
    let jwt = Jwt::read(reading.root().section("jwt").unwrap());
    (jwt.is_some(), reading.finish().to_string())
}

#[test]
fn a_section_says_what_is_wrong_with_it() {
    let secret = std::str::from_utf8(SECRET).unwrap();
    let public = concat!(env!("CARGO_MANIFEST_DIR"), "/src/jwt/tests/rsa_public.pem");
    let weak = concat!(env!("CARGO_MANIFEST_DIR"), "/src/jwt/tests/weak_public.pem");
    for (keys, told) in [
        (format!("algorithm = \"HS512\"\nsecret = \"{secret}\"\naudience = \"api\""), None),
        (
            format!("algorithm = [\"RS256\", \"PS512\"]\nkey_file = \"{public}\"\nleeway = \"0s\""),
            None,
        ),
        (format!("secret = \"{secret}\""), Some("`jwt.algorithm` is missing")),
        (format!("algorithm = \"none\"\nsecret = \"{secret}\""), Some("unsigned token")),
        (format!("algorithm = \"HS1\"\nsecret = \"{secret}\""), Some("`HS1` is not known here")),
        ("algorithm = []\nsecret = \"x\"".into(), Some("no token can be believed")),
        ("algorithm = \"HS256\"\nsecret = \"${SHORT}\"".into(), Some("at least 32 bytes")),
        ("algorithm = \"HS256\"".into(), Some("one place")),
        ("algorithm = \"HS256\"\nsecret = \"${UNSET}\"".into(), Some("`UNSET` is not set")),
        (
            format!("algorithm = \"HS256\"\nsecret = \"{secret}\"\nkey_file = \"x\""),
            Some("one place"),
        ),
        (format!("algorithm = \"HS256\"\nkey_file = \"{public}\""), Some("that HS256 needs")),
        (format!("algorithm = \"ES256\"\nkey_file = \"{public}\""), Some("that ES256 needs")),
        (format!("algorithm = \"RS256\"\nsecret = \"{secret}\""), Some("that RS256 needs")),
        (format!("algorithm = \"RS256\"\nkey_file = \"{weak}\""), Some("RSA of 2048 bits")),
        ("algorithm = \"RS256\"\nkey_file = \"/nowhere.pem\"".into(), Some("cannot read")),
        (format!("algorithm = \"RS256\"\njwks_file = \"{public}\""), Some("no JSON")),
        (format!("algorithm = \"HS256\"\nsecret = \"{secret}\"\nleeway = \"2m\""), Some("60s")),
        (format!("algorithm = \"HS256\"\nsecret = \"{secret}\"\nheader = \"a b\""), Some("header")),
        (format!("algorithm = \"HS256\"\nsecret = \"{secret}\"\naud = \"x\""), Some("jwt.aud")),
    ] {
        let (is_read, problems) = read(&format!("[jwt]\n{keys}\n"));
        match told {
            None => assert!(is_read && problems.is_empty(), "{problems}"),
            Some(told) => {
                assert!(problems.contains(told), "{told}: {problems}");
                assert_eq!(problems.matches("error: ").count(), 1, "told once: {problems}");
            }
        }
        assert!(!problems.contains(secret), "{problems}");
    }
}
