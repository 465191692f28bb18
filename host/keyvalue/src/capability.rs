//! The capability `wasi:keyvalue`, over the slot's [`SlotKeyValue`].

mod operations;

use bulkhead_runtime::capabilities::{
    Access::{Read, Write},
    Capabilities, Capability, Interface, SlotResources,
};
use bulkhead_telemetry::quoted;
use wasmtime::component::{HasSelf, Resource};

use self::{
    bindings::wasi::keyvalue::{
        atomics, batch,
        store::{self, Error, KeyResponse},
    },
    operations::{read, read_many, write},
};
use super::{
    change::Change,
    error::KeyValueError,
    slot::{OpenFailure, SlotKeyValue, StoreBucket},
    stores::KeyPage,
};

/// Bindings of the interfaces.
#[allow(missing_docs)]
pub mod bindings {
    wasmtime::component::bindgen!({
        path: "../../wit/deps/keyvalue",
        world: "wasi:keyvalue/imports",
        imports: {
            default: trappable,
            "wasi:keyvalue/store.[method]bucket.get": async | trappable,
            "wasi:keyvalue/store.[method]bucket.set": async | trappable,
            "wasi:keyvalue/store.[method]bucket.delete": async | trappable,
            "wasi:keyvalue/store.[method]bucket.exists": async | trappable,
            "wasi:keyvalue/store.[method]bucket.list-keys": async | trappable,
            "wasi:keyvalue/atomics": async | trappable,
            "wasi:keyvalue/batch": async | trappable,
        },
        with: {
            "wasi:keyvalue/store.bucket": crate::StoreBucket,
        },
    });
}

/// The version of all interfaces.
const VERSION: &str = "0.2.0-draft";

/// `wasi:keyvalue`.
#[derive(Clone, Copy, Debug)]
pub struct KeyValueCapability;

impl Capability for KeyValueCapability {
    fn interfaces(&self) -> &'static [Interface] {
        &[STORE, ATOMICS, BATCH]
    }
}

/// Buckets and their pairs.
const STORE: Interface = Interface {
    name: "wasi:keyvalue/store",
    version: VERSION,
    is_general: false,
    functions: &[
        ("open", Read),
        ("[method]bucket.get", Read),
        ("[method]bucket.set", Write),
        ("[method]bucket.delete", Write),
        ("[method]bucket.exists", Read),
        ("[method]bucket.list-keys", Read),
    ],
    add_to_linker: |instance| {
        store::add_to_linker_instance::<_, HasSelf<Capabilities>>(instance, |guest| &mut guest.capabilities)
    },
};

/// Increments.
const ATOMICS: Interface = Interface {
    name: "wasi:keyvalue/atomics",
    version: VERSION,
    is_general: false,
    functions: &[("increment", Write)],
    add_to_linker: |instance| {
        atomics::add_to_linker_instance::<_, HasSelf<Capabilities>>(instance, |guest| &mut guest.capabilities)
    },
};

/// Operations on several keys.
const BATCH: Interface = Interface {
    name: "wasi:keyvalue/batch",
    version: VERSION,
    is_general: false,
    functions: &[("get-many", Read), ("set-many", Write), ("delete-many", Write)],
    add_to_linker: |instance| {
        batch::add_to_linker_instance::<_, HasSelf<Capabilities>>(instance, |guest| &mut guest.capabilities)
    },
};

impl From<KeyValueError> for Error {
    fn from(error: KeyValueError) -> Self {
        Self::Other(error.to_string())
    }
}

/// Opens a bucket. The log has the line that would allow it.
fn open(resources: &SlotResources, identifier: &str) -> Result<StoreBucket, Error> {
    let slot = resources.slot.as_str();
    let Some(stores) = resources.get::<SlotKeyValue>() else {
        return Err(Error::NoSuchStore);
    };
    let (error, text) = match stores.open(identifier) {
        Ok(bucket) => return Ok(bucket),
        Err(OpenFailure::NoSuchStore) => {
            let text = format!("there is no key-value store \"{}\"", quoted(identifier));
            (Error::NoSuchStore, text)
        }
        Err(OpenFailure::Denied) => {
            let grant = stores.grant(identifier);
            let text =
                format!("slot {slot} may not open the key-value store {identifier}; allow it with {grant}");
            (Error::AccessDenied, text)
        }
    };
    if resources.admits_warning("keyvalue", &text) {
        tracing::warn!(slot, "{text}");
    }
    Err(error)
}

impl store::Host for Capabilities {
    fn open(&mut self, identifier: String) -> wasmtime::Result<Result<Resource<StoreBucket>, Error>> {
        match open(&self.resources, &identifier) {
            Ok(bucket) => Ok(Ok(self.push_resource(bucket)?)),
            Err(error) => Ok(Err(error)),
        }
    }
}

impl store::HostBucket for Capabilities {
    async fn get(
        &mut self,
        bucket: Resource<StoreBucket>,
        key: String,
    ) -> wasmtime::Result<Result<Option<Vec<u8>>, Error>> {
        let bucket = self.resource(&bucket)?.clone();
        Ok(read(&self.shadow, &bucket, key).await)
    }

    async fn set(
        &mut self,
        bucket: Resource<StoreBucket>,
        key: String,
        value: Vec<u8>,
    ) -> wasmtime::Result<Result<(), Error>> {
        let bucket = self.resource(&bucket)?.clone();
        Ok(write(&self.shadow, &bucket, Change::Set(vec![(key, value)])).await.map(drop))
    }

    async fn delete(
        &mut self,
        bucket: Resource<StoreBucket>,
        key: String,
    ) -> wasmtime::Result<Result<(), Error>> {
        let bucket = self.resource(&bucket)?.clone();
        Ok(write(&self.shadow, &bucket, Change::Delete(vec![key])).await.map(drop))
    }

    async fn exists(
        &mut self,
        bucket: Resource<StoreBucket>,
        key: String,
    ) -> wasmtime::Result<Result<bool, Error>> {
        let bucket = self.resource(&bucket)?.clone();
        Ok(operations::exists(&self.shadow, &bucket, key).await)
    }

    async fn list_keys(
        &mut self,
        bucket: Resource<StoreBucket>,
        cursor: Option<u64>,
    ) -> wasmtime::Result<Result<KeyResponse, Error>> {
        let bucket = self.resource(&bucket)?.clone();
        let page = operations::page(&self.shadow, &bucket, cursor).await;
        Ok(page.map(|KeyPage { keys, cursor }| KeyResponse { keys, cursor }))
    }

    fn drop(&mut self, bucket: Resource<StoreBucket>) -> wasmtime::Result<()> {
        self.delete_resource(bucket)?;
        Ok(())
    }
}

impl atomics::Host for Capabilities {
    async fn increment(
        &mut self,
        bucket: Resource<StoreBucket>,
        key: String,
        delta: u64,
    ) -> wasmtime::Result<Result<u64, Error>> {
        let bucket = self.resource(&bucket)?.clone();
        Ok(write(&self.shadow, &bucket, Change::Increment { key, delta }).await)
    }
}

impl batch::Host for Capabilities {
    async fn get_many(
        &mut self,
        bucket: Resource<StoreBucket>,
        keys: Vec<String>,
    ) -> wasmtime::Result<Result<Vec<Option<(String, Vec<u8>)>>, Error>> {
        let bucket = self.resource(&bucket)?.clone();
        Ok(read_many(&self.shadow, &bucket, keys).await)
    }

    async fn set_many(
        &mut self,
        bucket: Resource<StoreBucket>,
        key_values: Vec<(String, Vec<u8>)>,
    ) -> wasmtime::Result<Result<(), Error>> {
        let bucket = self.resource(&bucket)?.clone();
        Ok(write(&self.shadow, &bucket, Change::Set(key_values)).await.map(drop))
    }

    async fn delete_many(
        &mut self,
        bucket: Resource<StoreBucket>,
        keys: Vec<String>,
    ) -> wasmtime::Result<Result<(), Error>> {
        let bucket = self.resource(&bucket)?.clone();
        Ok(write(&self.shadow, &bucket, Change::Delete(keys)).await.map(drop))
    }
}
