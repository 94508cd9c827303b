package workload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/stacks/openstack"
)

const pathStores = "addons.objectStores"

// settleStores checks the object stores in the values, and fills in what they leave open. own
// says that the cluster gets a credential of its own.
func (m *Management) settleStores(c Cloud, key Key, values map[string]any, own bool) error {
	addons, _ := values["addons"].(map[string]any)
	stores := wantedStores(addons)
	if len(stores) == 0 {
		return nil
	}
	if !own {
		return fault.Usage(pathStores, errors.New("the cluster does not get a credential of its own"), "leave out "+valueSecretName+" and "+valueClouds)
	}
	endpoint, err := openstack.S3Endpoint(c.Clients)
	if err != nil {
		return fmt.Errorf("%s: %w", pathStores, err)
	}
	settled, wrong := map[string]any{}, []error{}
	for _, name := range slices.Sorted(maps.Keys(stores)) {
		asked, _ := stores[name].(map[string]any)
		store := laid(asked, nil)
		path := pathStores + "." + name
		bucket := cmp.Or(bucketOf(store), m.Environment+"-"+key.Name+"-"+name)
		if err := openstack.CheckBucket(bucket); err != nil {
			wrong = append(wrong, fault.Usage(path+".bucket", fmt.Errorf("%s is not the name of a bucket: %w", bucket, err), "give it another one"))
		}
		// us-east-1 is what Swift's API of S3 has where nobody set another one. Ceph takes any.
		for what, value := range map[string]string{"bucket": bucket, "endpoint": endpoint, "region": "us-east-1"} {
			if !given(store, what) {
				store[what] = value
			}
		}
		store["privateCA"] = c.Login.Authority != ""
		settled[name] = store
	}
	if err := errors.Join(wrong...); err != nil {
		return err
	}
	copied := maps.Clone(addons)
	copied["objectStores"] = settled
	values["addons"] = copied
	return nil
}

// wantedStores returns the object stores of the values, without those that null takes away, and with
// that of Harbor if it is asked for.
func wantedStores(addons map[string]any) map[string]any {
	all, _ := addons["objectStores"].(map[string]any)
	stores := maps.Clone(all)
	maps.DeleteFunc(stores, func(_ string, store any) bool { return store == nil })
	harbor, wanted := harborOf(addons)
	if !wanted {
		return stores
	}
	name, _ := harbor["objectStore"].(string)
	name = cmp.Or(name, "registry")
	release, _ := harbor["release"].(map[string]any)
	namespace, _ := release["namespace"].(string)
	return laid(stores, map[string]any{name: map[string]any{"namespace": cmp.Or(namespace, "harbor")}})
}

func harborOf(addons map[string]any) (harbor map[string]any, wanted bool) {
	harbor, _ = addons["harbor"].(map[string]any)
	wanted, _ = harbor["enabled"].(bool)
	return harbor, wanted
}

// storesIn are the object stores of values that are settled.
func storesIn(values map[string]any) map[string]any {
	stores, _, _ := unstructured.NestedFieldNoCopy(values, "addons", "objectStores")
	all, _ := stores.(map[string]any)
	return all
}

// checkStores reports whether the cluster has object stores that the values do not name. It refuses
// containers of others, to take an object store away that has objects, and to give one another
// bucket.
func (m *Management) checkStores(ctx context.Context, c Cloud, key Key, values map[string]any) (surplus bool, err error) {
	_, records, err := m.stores(ctx, key)
	if err != nil {
		return false, err
	}
	wanted, wrong := storesIn(values), []error{}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		wrong = append(wrong, m.checkStore(ctx, c, key, name, bucketOf(wanted[name]), records))
	}
	for _, name := range slices.Sorted(maps.Keys(records)) {
		if _, stays := wanted[name]; stays {
			continue
		}
		surplus = true
		bucket := records[name].Bucket
		objects, err := records[name].container(m, c, key).Objects(ctx)
		if err != nil {
			return false, err
		}
		if objects > 0 {
			wrong = append(wrong, fault.Usage(pathStores+"."+name, fmt.Errorf("it would be deleted, and its container %s has objects: %d", bucket, objects),
				"keep it in the values; or copy what you need, and run openstack container delete --recursive "+bucket))
		}
	}
	return surplus, errors.Join(wrong...)
}

// checkStore refuses another bucket for an object store that is there, and a container of others
// for one that is not.
func (m *Management) checkStore(ctx context.Context, c Cloud, key Key, name, bucket string, records map[string]objectStore) error {
	record, known := records[name]
	switch {
	case known && record.Bucket != bucket:
		return fault.Usage(pathStores+"."+name+".bucket", fmt.Errorf("it is %s, and cannot change to %s", record.Bucket, bucket), "leave it as it is, or add another object store")
	case known, c.home.elsewhere() && c.home.ID == "": // a project that is yet to be made has no containers
		return nil
	}
	return objectStore{Bucket: bucket}.container(m, c, key).Check(ctx)
}

func bucketOf(store any) string {
	settled, _ := store.(map[string]any)
	bucket, _ := settled["bucket"].(string)
	return bucket
}
