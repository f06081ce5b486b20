//! How the first person gets in: by a link that is made when a server starts.

use crate::admin::{Admin, AdminError, CreatedLink};

/// How the first person gets in.
#[derive(Debug)]
pub enum FirstLink {
    /// By this link, which makes the first owner or sets the password of the only user. It opens an
    /// account, so it is shown to whoever starts the server, and nowhere else.
    Link(CreatedLink),
    /// There are several users, and somebody has to say whose password it is to be.
    Ask,
    /// Somebody has a password already.
    NotNeeded,
}

/// What a server does when it starts: makes a link if nobody can sign in and it is clear for whom.
pub async fn first_link(admin: &Admin) -> Result<FirstLink, AdminError> {
    if admin.store().can_sign_in().await? {
        return Ok(FirstLink::NotNeeded);
    }
    let users = admin.list_users().await?;
    match users.as_slice() {
        [] => admin.create_link(None).await.map(FirstLink::Link),
        [only] => admin.create_link(Some(&only.id)).await.map(FirstLink::Link),
        _ => Ok(FirstLink::Ask),
    }
}
