//! The judge on small transcripts, a file for each subject.

mod answers;
mod beside;
mod closing;
mod echo;
mod form;
mod kept;
mod late;
mod life;
mod play;
mod status;
mod taken;
mod told;
