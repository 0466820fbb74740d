//! The settings in the chip's flash.

use alloc::vec;

use esp_bootloader_esp_idf::partitions::{
    DataPartitionSubType, PARTITION_TABLE_MAX_LEN, PartitionType, read_partition_table,
};
use esp_hal::peripherals::FLASH;
use esp_storage::FlashStorage;
use reference_nvs::Nvs;

/// Reads the first NVS partition that the partition table names; nothing when there is none.
pub(crate) fn read(flash: FLASH<'_>) -> Nvs {
    let mut flash = FlashStorage::new(flash);
    let mut table = vec![0; PARTITION_TABLE_MAX_LEN];
    let wanted = PartitionType::Data(DataPartitionSubType::Nvs);
    let found =
        read_partition_table(&mut flash, &mut table).and_then(|table| table.find_partition(wanted));
    let Ok(Some(partition)) = found else {
        return Nvs::default();
    };
    let mut region = partition.as_flash_region(&mut flash);
    Nvs::read(partition.len(), |offset, buffer| region.read(offset, buffer).is_ok())
}
