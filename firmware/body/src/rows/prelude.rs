//! What every table uses.

pub(crate) use alloc::rc::Rc;
pub(crate) use core::cell::{Cell, RefCell};

pub(crate) use serde_json::{Map, Value, json};

pub(crate) use super::edit::*;
pub(crate) use super::heater::*;
pub(crate) use super::select::*;
pub(crate) use super::strip::*;
pub(crate) use super::tools::*;
pub(crate) use super::{Row, rows};
pub(crate) use crate::defect::Defect;
pub(crate) use crate::hooks::{Act, Flow, Hands, Inbound, Request};
pub(crate) use crate::prelude::*;
