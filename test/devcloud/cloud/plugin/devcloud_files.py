"""A Cinder back end whose volumes are sparse files, on the host of the only
hypervisor. Nova attaches them as files: its driver "gpfs" is the one that takes
a path and connects nothing, so that no kernel needs LVM, iSCSI or a loop
device."""
import os
import shutil

from cinder import exception
from cinder import interface
from cinder.image import image_utils
from cinder.volume import driver
from oslo_utils import units

FOLDER = '/var/lib/cinder/volumes'


def _done(self, *args, **kwargs):
    return None


@interface.volumedriver
class Driver(driver.VolumeDriver):
    VERSION = '1.0'

    check_for_setup_error = _done
    ensure_export = create_export = remove_export = _done
    terminate_connection = _done

    def do_setup(self, context):
        os.makedirs(FOLDER, exist_ok=True)

    def _path(self, thing):
        return os.path.join(FOLDER, thing.name)

    def _copy(self, source, target, gigabytes):
        try:
            shutil.copyfile(self._path(source), self._path(target))
        except FileNotFoundError as e:
            raise exception.VolumeBackendAPIException(data=str(e))
        os.truncate(self._path(target), gigabytes * units.Gi)

    def create_volume(self, volume):
        with open(self._path(volume), 'xb') as file:
            file.truncate(volume.size * units.Gi)

    def delete_volume(self, volume):
        try:
            os.unlink(self._path(volume))
        except FileNotFoundError:
            pass

    def extend_volume(self, volume, new_size):
        os.truncate(self._path(volume), new_size * units.Gi)

    def create_snapshot(self, snapshot):
        self._copy(snapshot.volume, snapshot, snapshot.volume_size)

    delete_snapshot = delete_volume

    def create_volume_from_snapshot(self, volume, snapshot):
        self._copy(snapshot, volume, volume.size)

    def create_cloned_volume(self, volume, src_vref):
        self._copy(src_vref, volume, volume.size)

    def copy_image_to_volume(self, context, volume, image_service, image_id,
                             disable_sparse=False):
        image_utils.fetch_to_raw(context, image_service, image_id,
                                 self._path(volume), '1M', size=volume.size)
        os.truncate(self._path(volume), volume.size * units.Gi)

    def copy_volume_to_image(self, context, volume, image_service, image_meta):
        image_utils.upload_volume(context, image_service, image_meta,
                                  self._path(volume), volume)

    def initialize_connection(self, volume, connector, **kwargs):
        return {'driver_volume_type': 'gpfs',
                'data': {'volume_id': volume.id, 'name': volume.name,
                         'device_path': self._path(volume)}}

    def _update_volume_stats(self):
        free = shutil.disk_usage(FOLDER)
        pool = {'pool_name': 'devcloud', 'total_capacity_gb': 10000,
                'free_capacity_gb': free.free // units.Gi,
                'provisioned_capacity_gb': 0, 'reserved_percentage': 0,
                'max_over_subscription_ratio': 20.0,
                'thin_provisioning_support': True, 'QoS_support': False,
                'multiattach': True}
        self._stats = {'volume_backend_name': 'devcloud',
                       'vendor_name': 'devcloud', 'storage_protocol': 'file',
                       'driver_version': self.VERSION, 'pools': [pool]}
