package api

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// greek are the letters for generated names.
const greek = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon phi chi psi omega"

// randomName returns a name in Magnum's form: <greek letter>-<1..24>-<kind>.
func randomName(kind string) string {
	letters := strings.Fields(greek)
	return fmt.Sprintf("%s-%d-%s", letters[rand.N(len(letters))], 1+rand.N(24), kind)
}

const (
	// stackName and stackRandom are the lengths of the two parts of a release's
	// name, as magnum-capi-helm makes it.
	stackName   = 30
	stackRandom = 12
)

// objectName makes the name of an object from a title: its sanitised beginning and twelve random
// characters.
func objectName(title string) string {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
	name := v1alpha1.Sanitise(title)
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "k-" + name // names of services begin with a letter
	}
	name = strings.Trim(name[:min(stackName, len(name))], "-")
	random := make([]byte, stackRandom)
	for i := range random {
		random[i] = letters[rand.N(len(letters))]
	}
	return name + "-" + string(random)
}
