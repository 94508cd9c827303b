"""A Cinder back end whose volumes are rows in the database and nothing else."""
from cinder import interface
from cinder.volume import driver


def _done(self, *args, **kwargs):
    return None


@interface.volumedriver
class Driver(driver.VolumeDriver):
    VERSION = '1.0'

    check_for_setup_error = do_setup = _done
    create_volume = delete_volume = extend_volume = retype = _done
    create_snapshot = delete_snapshot = create_volume_from_snapshot = _done
    create_cloned_volume = update_migrated_volume = _done
    copy_image_to_volume = copy_volume_to_image = _done
    ensure_export = create_export = remove_export = _done
    create_export_snapshot = remove_export_snapshot = _done
    initialize_connection_snapshot = terminate_connection_snapshot = _done
    terminate_connection = _done

    def clone_image(self, context, volume, image_location, image_meta,
                    image_service):
        return {}, True

    def initialize_connection(self, volume, connector, **kwargs):
        return {'driver_volume_type': 'fake', 'data': {'volume_id': volume.id}}

    def _update_volume_stats(self):
        pool = {'pool_name': 'devcloud', 'total_capacity_gb': 100000,
                'free_capacity_gb': 90000, 'provisioned_capacity_gb': 0,
                'reserved_percentage': 0, 'max_over_subscription_ratio': 20.0,
                'thin_provisioning_support': True, 'QoS_support': False,
                'multiattach': True}
        self._stats = {'volume_backend_name': 'devcloud',
                       'vendor_name': 'devcloud', 'storage_protocol': 'fake',
                       'driver_version': self.VERSION, 'pools': [pool]}
