//! The SDK from outside: workflows and activities as a user writes them.

mod basics;
