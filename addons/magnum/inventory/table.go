package inventory

import (
	"cmp"
	"hash/fnv"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// object is a resource that the REST API knows by uuid and name.
type object interface {
	client.Object
	UUID() string
	Title() string
}

// table holds objects of one kind by everything they are looked for by.
type table[T object] struct {
	byKey   map[types.NamespacedName]T
	byUUID  map[string][]T
	byTitle map[string][]T
}

func newTable[T object]() table[T] {
	return table[T]{map[types.NamespacedName]T{}, map[string][]T{}, map[string][]T{}}
}

func (t *table[T]) put(o T) {
	t.drop(client.ObjectKeyFromObject(o))
	t.byKey[client.ObjectKeyFromObject(o)] = o
	t.byUUID[o.UUID()] = append(t.byUUID[o.UUID()], o)
	t.byTitle[o.Title()] = append(t.byTitle[o.Title()], o)
}

func (t *table[T]) drop(key types.NamespacedName) {
	old, ok := t.byKey[key]
	if !ok {
		return
	}
	delete(t.byKey, key)
	same := func(o T) bool { return client.ObjectKeyFromObject(o) == key }
	remove(t.byUUID, old.UUID(), same)
	remove(t.byTitle, old.Title(), same)
}

// remove takes objects out of an index. The slice is a new one, because the
// old may be in use by readers.
func remove[T any](index map[string][]T, name string, gone func(T) bool) {
	left := slices.DeleteFunc(slices.Clone(index[name]), gone)
	if len(left) == 0 {
		delete(index, name)
		return
	}
	index[name] = left
}

// clocksApart is how far the endpoint's clock and the API server's may be apart
// for the endpoint's to be believed.
const clocksApart = 5 * time.Second

// SortID is the number that Magnum calls id: it rises with the time of
// creation, stays the same forever and fits into 53 bits. Of objects that the
// endpoint did not create those of the same second are in an order of their own
// that does not change.
//
// Objects that were moved in keep their ids, which are lower than all of these.
func SortID(o metav1.Object) int64 {
	if id := v1alpha1.FormerID(o); id > 0 {
		return id
	}
	created := v1alpha1.Created(o)
	if at, err := time.Parse(time.RFC3339Nano, o.GetAnnotations()[v1alpha1.AnnotationCreatedAt]); err == nil && at.Sub(created.Time).Abs() < clocksApart {
		return at.Unix()<<20 | int64(at.Nanosecond()/int(time.Microsecond))
	}
	id := string(o.GetUID())
	if id == "" {
		id = o.GetNamespace() + "/" + o.GetName()
	}
	return sortID(created, id)
}

func sortID(created metav1.Time, id string) int64 {
	h := fnv.New32a()
	h.Write([]byte(id)) //nolint:errcheck // a hash does not fail
	second := max(created.Unix(), 0)
	return second<<20 | int64(h.Sum32()&(1<<20-1))
}

func byID[T metav1.Object](a, b T) int { return cmp.Compare(SortID(a), SortID(b)) }
