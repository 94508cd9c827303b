package images

import (
	"errors"
	"fmt"
	"strings"

	"github.com/slipway-sh/slipway/internal/fault"
)

// Resolve finds an image by ID or name. A name that the project itself has
// wins over others'; several are a fault that lists them. It is pure.
func Resolve(list []Record, project, nameOrID string) (Record, error) {
	var own, others []Record
	for _, r := range list {
		switch {
		case r.ID == nameOrID:
			return r, nil
		case r.Name != nameOrID:
		case r.Owner == project:
			own = append(own, r)
		default:
			others = append(others, r)
		}
	}
	found := own
	if len(found) == 0 {
		found = others
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return Record{}, fault.New("image "+nameOrID, errors.New("there is no image with this name or ID"), "list the images with slipway image list, or upload it with slipway image sync")
	}
	var ids []string
	for _, r := range found {
		ids = append(ids, r.ID)
	}
	return Record{}, fault.New("image "+nameOrID, fmt.Errorf("%d images have this name: %s", len(found), strings.Join(ids, ", ")), "use the ID of one of them")
}
