//! Where a server is, and how it is reached.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::Uri;
use hyper::http::HeaderValue;
use percent_encoding::percent_decode_str;

use crate::failure::AccessError;
use crate::tls::Material;

/// A server, as it was configured.
#[derive(Debug, Clone)]
pub struct Access {
    /// Base URL, `http:` or `https:`; its path goes before that of each request.
    pub server: String,
    /// For `https:`.
    pub tls: Material,
    /// The name that the server's certificate must have, where it is not that of `server`.
    pub server_name: Option<String>,
    /// URL of an HTTP proxy; a user and a password in it are sent as basic authentication.
    pub proxy: Option<String>,
    /// Sent with each request.
    pub user_agent: String,
    /// Most connections open at once, watches included.
    pub connections: usize,
}

/// The server's address, taken apart.
#[derive(Debug, Clone)]
pub(crate) struct Origin {
    /// Scheme and authority, with the port spelled out.
    pub(crate) uri: Uri,
    /// The `Host` header.
    pub(crate) host_header: HeaderValue,
    /// Host and port, for messages.
    pub(crate) shown: String,
    /// Host alone, without brackets.
    pub(crate) host: String,
    /// Path that goes before that of each request, without a trailing slash.
    pub(crate) prefix: String,
    pub(crate) tls: bool,
}

impl Origin {
    pub(crate) fn parse(server: &str) -> Result<Self, AccessError> {
        let bad =
            |reason: &str| AccessError::new(format!("the server {server:?} is no usable address: {reason}"));
        let uri: Uri = server.parse().map_err(|_| bad("it is no URL"))?;
        let tls = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(bad("it must begin with https:// or http://")),
        };
        let (Some(authority), Some(host)) = (uri.authority(), uri.host()) else {
            return Err(bad("it has no host"));
        };
        let port = authority.port_u16().unwrap_or(if tls { 443 } else { 80 });
        let scheme = if tls { "https" } else { "http" };
        let shown = format!("{host}:{port}");
        let named = authority
            .port()
            .map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        Ok(Self {
            uri: format!("{scheme}://{shown}/")
                .parse()
                .map_err(|_| bad("it is no URL"))?,
            host_header: HeaderValue::try_from(named).map_err(|_| bad("its host is malformed"))?,
            shown,
            host: host.trim_start_matches('[').trim_end_matches(']').to_owned(),
            prefix: uri.path().trim_end_matches('/').to_owned(),
            tls,
        })
    }
}

/// An HTTP proxy.
#[derive(Debug, Clone)]
pub(crate) struct Proxy {
    pub(crate) uri: Uri,
    pub(crate) authorization: Option<HeaderValue>,
    /// Host and port, for messages.
    pub(crate) shown: String,
}

impl Proxy {
    /// Reads a proxy's URL; what it says is never shown, since there may be a password in it.
    pub(crate) fn parse(url: &str) -> Result<Self, AccessError> {
        let bad = |reason: &str| AccessError::new(format!("the proxy-url cannot be used: {reason}"));
        let uri: Uri = url.parse().map_err(|_| bad("it is no URL"))?;
        match uri.scheme_str() {
            Some("http") => {}
            Some(other) => {
                return Err(bad(&format!(
                    "{other} proxies are not supported, only http (with CONNECT) ones"
                )));
            }
            None => return Err(bad("it must begin with http://")),
        }
        let (Some(authority), Some(host)) = (uri.authority(), uri.host()) else {
            return Err(bad("it has no host"));
        };
        let shown = format!("{host}:{}", authority.port_u16().unwrap_or(80));
        let authorization = authority
            .as_str()
            .rsplit_once('@')
            .map(|(user, _)| {
                let plain: Vec<u8> = percent_decode_str(user).collect();
                let mut value = HeaderValue::try_from(format!("Basic {}", STANDARD.encode(plain)))
                    .map_err(|_| bad("its user is malformed"))?;
                value.set_sensitive(true);
                Ok(value)
            })
            .transpose()?;
        Ok(Self {
            uri: format!("http://{shown}/")
                .parse()
                .map_err(|_| bad("it is no URL"))?,
            authorization,
            shown,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_taken_apart() {
        let origin = Origin::parse("https://[::1]/k8s/clusters/c-1/").unwrap();
        assert_eq!(origin.shown, "[::1]:443");
        assert_eq!(origin.host, "::1");
        assert_eq!(origin.host_header, "[::1]");
        assert_eq!(origin.prefix, "/k8s/clusters/c-1");
        assert!(origin.tls);
        let origin = Origin::parse("http://api.example.com:8001").unwrap();
        assert_eq!(origin.shown, "api.example.com:8001");
        assert_eq!(origin.host_header, "api.example.com:8001");
        assert_eq!(origin.prefix, "");
        assert!(!origin.tls);
    }

    #[test]
    fn what_is_no_server_is_refused() {
        for text in [
            "",
            "api.example.com",
            "ftp://api.example.com",
            "https://",
            "/x",
            "https://a b",
        ] {
            assert!(Origin::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_proxys_password_is_sent_and_never_shown() {
        let proxy = Proxy::parse("http://us%3Aer:s3cret@proxy.example.com:3128").unwrap();
        assert_eq!(proxy.shown, "proxy.example.com:3128");
        assert_eq!(proxy.authorization.as_ref().unwrap(), "Basic dXM6ZXI6czNjcmV0");
        assert!(!format!("{proxy:?}").contains("czNjcmV0"));
        let refused = Proxy::parse("socks5://user:s3cret@proxy.example.com").unwrap_err();
        assert!(refused.to_string().contains("socks5"));
        assert!(!refused.to_string().contains("s3cret"));
    }
}
