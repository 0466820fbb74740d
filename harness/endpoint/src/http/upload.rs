//! Reads what a device uploads, without keeping the picture.

use std::time::Duration;

use http_body_util::{BodyDataStream, BodyExt as _};
use hyper::body::{Body as _, Bytes, Incoming};
use mcp_hil_core::{
    limits::{MAX_QUESTION_BYTES, MAX_UPLOAD_BYTES},
    transcript::Upload,
    wire::to_hex,
};
use multer::{Constraints, Multipart, SizeLimit};
use tokio::time::timeout;

/// What a JPEG picture ends with.
const END_OF_IMAGE: [u8; 2] = [0xff, 0xd9];

/// Most bytes that are read and thrown away beyond a limit, so that the device gets to read the
/// answer that says so: closing at once would take it away with the connection.
const DISCARDED_BYTES: usize = 32 * 1024 * 1024;

/// How long the rest of a body may take behind the end of its form: a few bytes at most, which leave with it.
const REST_PATIENCE: Duration = Duration::from_secs(3);

/// Why a body was not taken.
#[derive(Debug)]
pub(super) enum NotTaken {
    /// It is longer than this, in bytes.
    TooLarge(usize),
    /// It is not what it should be.
    Malformed(String),
    /// The connection ended in its midst, or its framing is broken.
    Broken(String),
}

/// The whole body, up to `limit` bytes.
pub(super) async fn read_all(body: &mut Incoming, limit: usize) -> Result<Vec<u8>, NotTaken> {
    let mut whole = Vec::new();
    while let Some(data) = next(body).await? {
        if whole.len() + data.len() > limit {
            drop(whole);
            discard(body).await?;
            return Err(NotTaken::TooLarge(limit));
        }
        whole.extend_from_slice(&data);
    }
    Ok(whole)
}

/// Reads `multipart/form-data` with the parts `question` and `file`. What came of it is in
/// `upload`, also when the rest is no good.
pub(super) async fn read_upload(
    content_type: &str,
    body: &mut Incoming,
    upload: &mut Upload,
) -> Result<(), NotTaken> {
    let read = match multer::parse_boundary(content_type) {
        Ok(boundary) => read_parts(boundary, body, upload).await,
        Err(error) => {
            Err(NotTaken::Malformed(format!("not multipart/form-data with a boundary ({error})")))
        }
    };
    match &read {
        Err(NotTaken::Broken(_)) => {}
        Err(_) => discard(body).await?,
        Ok(()) => match timeout(REST_PATIENCE, discard(body)).await {
            Ok(discarded) => discarded?,
            Err(_) => return Err(NotTaken::Malformed(unended(body))),
        },
    }
    read
}

/// Why the body of a form that has come to its end has not.
fn unended(body: &Incoming) -> String {
    let seconds = REST_PATIENCE.as_secs();
    let rest = match body.size_hint().exact() {
        Some(bytes) => format!("of which its Content-Length announces {bytes} bytes more"),
        None => "whose last chunk does not come".to_owned(),
    };
    format!(
        "no end of the body within {seconds} s behind the end of its form, {rest} (RFC 9112, section 6)"
    )
}

async fn read_parts(
    boundary: String,
    body: &mut Incoming,
    upload: &mut Upload,
) -> Result<(), NotTaken> {
    let limit = SizeLimit::new().whole_stream(MAX_UPLOAD_BYTES as u64);
    let mut parts = Multipart::with_constraints(
        BodyDataStream::new(body),
        boundary,
        Constraints::new().size_limit(limit),
    );
    while let Some(mut part) = parts.next_field().await.map_err(not_taken)? {
        let name = part.name().unwrap_or_default().to_owned();
        let mut kept = Vec::new();
        let mut length = 0u64;
        let (mut ends, mut last) = (false, None);
        if name == "file" {
            upload.file_name = part.file_name().map(str::to_owned);
            upload.file_type = part.content_type().map(ToString::to_string);
        }
        let keep = if name == "question" { MAX_QUESTION_BYTES } else { 4 };
        while let Some(data) = part.chunk().await.map_err(not_taken)? {
            length += data.len() as u64;
            let room = keep - kept.len();
            kept.extend_from_slice(&data[..data.len().min(room)]);
            let two = last.zip(data.first().copied());
            let begins = two.is_some_and(|(last, first)| [last, first] == END_OF_IMAGE);
            ends |= begins || data.windows(2).any(|two| two == END_OF_IMAGE);
            last = data.last().copied().or(last);
        }
        match name.as_str() {
            "question" => upload.question = Some(String::from_utf8_lossy(&kept).into_owned()),
            "file" => {
                upload.file_bytes = Some(length);
                upload.starts = Some(to_hex(&kept));
                upload.ends = Some(ends);
            }
            _ => {}
        }
    }
    Ok(())
}

fn not_taken(error: multer::Error) -> NotTaken {
    match error {
        multer::Error::StreamSizeExceeded { .. } => NotTaken::TooLarge(MAX_UPLOAD_BYTES),
        multer::Error::StreamReadFailed(reason) => NotTaken::Broken(reason.to_string()),
        error => NotTaken::Malformed(format!("not well-formed multipart/form-data ({error})")),
    }
}

/// Reads the rest and throws it away.
async fn discard(body: &mut Incoming) -> Result<(), NotTaken> {
    let mut discarded = 0;
    while let Some(data) = next(body).await? {
        discarded += data.len();
        if discarded > DISCARDED_BYTES {
            break;
        }
    }
    Ok(())
}

async fn next(body: &mut Incoming) -> Result<Option<Bytes>, NotTaken> {
    loop {
        match body.frame().await {
            None => return Ok(None),
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    return Ok(Some(data));
                }
            }
            Some(Err(error)) => return Err(NotTaken::Broken(error.to_string())),
        }
    }
}
