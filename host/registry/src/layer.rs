//! The layer that is a component, while it arrives.

use std::{
    fs,
    io::{self, SeekFrom},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
    sync::Arc,
};

use reqwest::Response;
use sha2::{Digest as _, Sha256};
use tokio::{
    fs::File,
    io::{AsyncReadExt as _, AsyncSeekExt as _, AsyncWriteExt as _},
};

use super::{Fault, manifest::Layer, session::chunk};

/// A file without a name, whose space is free once it is closed, whatever ends the process.
fn nameless(folder: &Path) -> io::Result<fs::File> {
    let path = folder.join(format!("pull-{}.tmp", uuid::Uuid::new_v4()));
    let file = fs::File::options().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    fs::remove_file(path)?;
    Ok(file)
}

/// The bytes of `layer`, which are in memory only once they are known to be these.
pub(super) async fn receive(mut answer: Response, layer: &Layer, folder: &Path) -> Result<Arc<[u8]>, Fault> {
    let mismatch =
        |found: String| Fault::DigestMismatch { what: "layer", wanted: layer.digest.clone(), found };
    let mut file = File::from_std(nameless(folder).map_err(Fault::Storage)?);
    let (mut hash, mut bytes) = (Sha256::new(), 0_u64);
    while let Some(chunk) = chunk(&mut answer).await? {
        bytes += chunk.len() as u64;
        if bytes > layer.bytes {
            return Err(mismatch(format!("more than its {} bytes", layer.bytes)));
        }
        hash.update(&chunk);
        file.write_all(&chunk).await.map_err(Fault::Storage)?;
    }
    let digest = format!("sha256:{}", hex::encode(hash.finalize()));
    if digest != layer.digest {
        return Err(mismatch(digest));
    }
    let mut wasm = Vec::new();
    let kept = async {
        file.flush().await?;
        file.seek(SeekFrom::Start(0)).await?;
        file.take(bytes).read_to_end(&mut wasm).await
    };
    kept.await.map_err(Fault::Storage)?;
    Ok(wasm.into())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn incomplete_file_has_no_name() {
        let folder = tempfile::tempdir().unwrap();
        let _file = nameless(folder.path()).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        nameless(&folder.path().join("none")).unwrap_err();
    }
}
