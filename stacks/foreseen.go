package stacks

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// Foreseen are the values that the management cluster's chart will have: those of this
// program, and for what is made in the cloud that of the values it has now, because it
// stays. image is the ID of the nodes' image, or any other word where it is uploaded first.
func (e Environment) Foreseen(now map[string]any, image string) (map[string]any, error) {
	const made = "made"
	things := Made{ImageID: made, KeyPair: made, NetworkID: made, SubnetID: made, CredentialID: made, CredentialSecret: made, SeedAddress: "192.0.2.1", RouterAddress: "192.0.2.2", SeedGroupID: made, NetworkMTU: 1}
	without, err := plain(e.Values(Made{}))
	if err != nil {
		return nil, err
	}
	with, err := plain(e.Values(things))
	if err != nil {
		return nil, err
	}
	values, _ := settle(without, with, any(now)).(map[string]any)
	if image != "" && values["machineImageId"] != nil {
		values["machineImageId"] = image
	}
	return values, nil
}

// plain is what JSON makes of values, as a state has them.
func plain(values map[string]any) (any, error) {
	text, err := json.Marshal(values)
	if err != nil {
		return nil, fmt.Errorf("encoding the chart's values: %w", err)
	}
	var all any
	return all, json.Unmarshal(text, &all)
}

// settle takes what is there now for whatever differs between values without and with the
// things that are made.
func settle(without, with, now any) any {
	if reflect.DeepEqual(without, with) {
		return with
	}
	b, table := with.(map[string]any)
	a, both := without.(map[string]any)
	if !table || !both { // all of it comes from what is made
		return now
	}
	is, _ := now.(map[string]any)
	all := map[string]any{}
	for key, value := range b {
		if settled := settle(a[key], value, is[key]); settled != nil {
			all[key] = settled
		}
	}
	return all
}
