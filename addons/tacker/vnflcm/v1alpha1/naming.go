package v1alpha1

import (
	"fmt"

	"github.com/google/uuid"
)

const (
	// Finalizer keeps an instance until subscribers know of its deletion.
	Finalizer = Group + "/deletion"
	// LabelInstance is on every object that an instance has applied.
	LabelInstance = Group + "/instance"
	// LabelProject, on a namespace, lets instances of a project be in it.
	LabelProject = Group + "/project"
)

// OperationID is the id of an instance's operation: the same for two requests that both
// want to be the next one, so that only one can be.
func OperationID(instance string, sequence int64) string {
	return uuid.NewSHA1(uuid.NameSpaceOID, fmt.Appendf(nil, "%s/%s/%d", Group, instance, sequence)).String()
}
