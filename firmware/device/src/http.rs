//! HTTP requests that the device asks its body to make.

use alloc::string::String;
use alloc::vec::Vec;

/// What a request is for. The body gives it back with the outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Asks for the configuration at boot.
    Configuration,
    /// Asks whether a person has entered the activation code.
    Activation,
    /// Sends a picture to be explained.
    Vision,
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpRequest {
    /// What it is for.
    pub purpose: Purpose,
    /// `POST`.
    pub method: &'static str,
    /// `http://` or `https://` address.
    pub url: String,
    /// Names and values, without those that follow from the URL and the body.
    pub headers: Vec<(&'static str, String)>,
    /// Body.
    pub body: Vec<u8>,
}

/// An answer, whatever its status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpResponse {
    /// Status code.
    pub status: u16,
    /// Body.
    pub body: Vec<u8>,
}

/// The outcome of a request: `None` when no answer came.
pub type HttpOutcome = Option<HttpResponse>;
