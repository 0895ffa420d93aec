//! New connections: TCP, perhaps by way of a proxy, and TLS.

use std::sync::Arc;
use std::time::Duration;

use hyper::Uri;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, BufReader};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;
use tower_service::Service;

use crate::access::{Access, Origin, Proxy};
use crate::failure::{AccessError, Failure};

const CONNECT: Duration = Duration::from_secs(30);
// On a connection that is idle, as a watch's is most of the time, a dead peer is noticed in half a minute.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(15);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
const KEEPALIVE_PROBES: u32 = 3;
/// rustls asks for 4 KiB at a time; a system call each would be dear.
const READ_AHEAD: usize = 32 * 1024;

/// A connection's bytes, encrypted or not.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Makes connections to one server.
#[derive(Debug)]
pub(crate) struct Connector {
    pub(crate) origin: Origin,
    pub(crate) proxy: Option<Proxy>,
    tcp: HttpConnector,
    tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
}

impl Connector {
    pub(crate) fn new(access: &Access) -> Result<Self, AccessError> {
        let origin = Origin::parse(&access.server)?;
        let proxy = access.proxy.as_deref().map(Proxy::parse).transpose()?;
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT));
        tcp.set_keepalive(Some(KEEPALIVE_IDLE));
        tcp.set_keepalive_interval(Some(KEEPALIVE_INTERVAL));
        tcp.set_keepalive_retries(Some(KEEPALIVE_PROBES));
        let tls = if origin.tls {
            let name = access.server_name.as_deref().unwrap_or(&origin.host);
            let name = ServerName::try_from(name.to_owned())
                .map_err(|_| AccessError::new(format!("{name:?} is no name that a server may have")))?;
            Some((Arc::new(access.tls.config()?), name))
        } else {
            None
        };
        Ok(Self {
            origin,
            proxy,
            tcp,
            tls,
        })
    }

    /// Whether a proxy reads the requests, rather than passing on bytes.
    pub(crate) fn is_forwarded(&self) -> bool {
        self.proxy.is_some() && self.tls.is_none()
    }

    /// A new connection.
    pub(crate) async fn connect(&self) -> Result<Box<dyn Stream>, Failure> {
        let tcp = self.tcp().await?;
        let Some((config, name)) = &self.tls else {
            return Ok(Box::new(tcp));
        };
        let handshake = TlsConnector::from(Arc::clone(config))
            .connect(name.clone(), BufReader::with_capacity(READ_AHEAD, tcp));
        match tokio::time::timeout(CONNECT, handshake).await {
            Ok(Ok(stream)) => Ok(Box::new(stream)),
            Ok(Err(error)) => Err(Failure::connecting(&self.origin.shown, &error)),
            Err(_) => Err(Failure::new(format!(
                "cannot connect to {}: no TLS handshake within {} s",
                self.origin.shown,
                CONNECT.as_secs()
            ))),
        }
    }

    async fn tcp(&self) -> Result<TcpStream, Failure> {
        let Some(proxy) = &self.proxy else {
            return direct(&self.tcp, &self.origin.uri, &self.origin.shown).await;
        };
        if self.is_forwarded() {
            return direct(&self.tcp, &proxy.uri, &format!("the proxy {}", proxy.shown)).await;
        }
        let mut tunnel = Tunnel::new(proxy.uri.clone(), self.tcp.clone());
        if let Some(authorization) = &proxy.authorization {
            tunnel = tunnel.with_auth(authorization.clone());
        }
        match tokio::time::timeout(CONNECT, tunnel.call(self.origin.uri.clone())).await {
            Ok(Ok(stream)) => Ok(stream.into_inner()),
            Ok(Err(error)) => Err(Failure::connecting(
                &format!("{} by the proxy {}", self.origin.shown, proxy.shown),
                &error,
            )),
            Err(_) => Err(Failure::new(format!(
                "cannot connect to {}: the proxy {} did not answer within {} s",
                self.origin.shown,
                proxy.shown,
                CONNECT.as_secs()
            ))),
        }
    }
}

async fn direct(connector: &HttpConnector, uri: &Uri, shown: &str) -> Result<TcpStream, Failure> {
    connector
        .clone()
        .call(uri.clone())
        .await
        .map(TokioIo::into_inner)
        .map_err(|error| Failure::connecting(shown, &error))
}
