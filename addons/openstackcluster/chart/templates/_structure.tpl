{{/*
Maps that are built up. Values are changed in place, because a template can only
give back text: callers pass deep copies of what they must not change.
*/}}

{{/* [target, source]: source over target. What source says wins, also false, 0, "" and null; lists are replaced. */}}
{{- define "structure.merge" -}}
{{- $target := index . 0 -}}
{{- range $key, $value := index . 1 -}}
  {{- if and (kindIs "map" $value) (kindIs "map" (get $target $key)) -}}
    {{- include "structure.merge" (list (get $target $key) $value) -}}
  {{- else -}}
    {{- $_ := set $target $key $value -}}
  {{- end -}}
{{- end -}}
{{- end -}}

{{/* [target, source]: as merge, but lists are joined: commands and files of several origins. */}}
{{- define "structure.concat" -}}
{{- $target := index . 0 -}}
{{- $source := index . 1 -}}
{{- if hasKey $source "Error" -}}
  {{- fail (printf "chart: broken part of a template: %s" $source.Error) -}}
{{- end -}}
{{- range $key, $value := $source -}}
  {{- $there := get $target $key -}}
  {{- if and (kindIs "map" $value) (kindIs "map" $there) -}}
    {{- include "structure.concat" (list $there $value) -}}
  {{- else if and (kindIs "slice" $value) (kindIs "slice" $there) -}}
    {{- $_ := set $target $key (concat $there $value) -}}
  {{- else -}}
    {{- $_ := set $target $key $value -}}
  {{- end -}}
{{- end -}}
{{- end -}}

{{/*
Takes null, {} and [] out of a map, so that what says the same is the same.
An empty list of taints is kept: it means none, where no list means the defaults.
*/}}
{{- define "structure.prune" -}}
{{- $map := . -}}
{{- range $key, $value := $map -}}
  {{- if kindIs "map" $value -}}
    {{- include "structure.prune" $value -}}
  {{- else if kindIs "slice" $value -}}
    {{- range $value -}}
      {{- if kindIs "map" . -}}{{- include "structure.prune" . -}}{{- end -}}
    {{- end -}}
  {{- end -}}
  {{- $empty := or (kindIs "invalid" $value) (and (or (kindIs "map" $value) (kindIs "slice" $value)) (empty $value)) -}}
  {{- if and $empty (ne $key "taints") -}}
    {{- $_ := unset $map $key -}}
  {{- end -}}
{{- end -}}
{{- end -}}

{{/* Eight hexadecimal digits that stand for the content of a map, however it was written. */}}
{{- define "structure.hash" -}}
{{- mustToJson . | sha256sum | trunc 8 -}}
{{- end -}}

{{/* A value as text. Numbers in values are floating-point ones, of which templates make 1e+06. */}}
{{- define "structure.text" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) -}}
  {{- int64 . -}}
{{- else -}}
  {{- toString . -}}
{{- end -}}
{{- end -}}

{{/* The seconds of a duration such as 5m0s; a number is seconds already. */}}
{{- define "structure.seconds" -}}
{{- if kindIs "string" . -}}
  {{- $epoch := toDate "2006-01-02 -0700" "2000-01-01 +0000" -}}
  {{- sub ($epoch | mustDateModify . | unixEpoch) (unixEpoch $epoch) -}}
{{- else -}}
  {{- int64 . -}}
{{- end -}}
{{- end -}}

{{/* [map, from, to]: renames a duration to a number of seconds. */}}
{{- define "structure.durationToSeconds" -}}
{{- $map := index . 0 -}}
{{- $from := index . 1 -}}
{{- if hasKey $map $from -}}
  {{- $value := get $map $from -}}
  {{- $_ := unset $map $from -}}
  {{- if not (kindIs "invalid" $value) -}}
    {{- $_ := set $map (index . 2) (int64 (include "structure.seconds" $value)) -}}
  {{- end -}}
{{- end -}}
{{- end -}}

{{/* [map, from, to]: renames a key that is there. */}}
{{- define "structure.rename" -}}
{{- $map := index . 0 -}}
{{- $from := index . 1 -}}
{{- if hasKey $map $from -}}
  {{- $_ := set $map (index . 2) (get $map $from) -}}
  {{- $_ := unset $map $from -}}
{{- end -}}
{{- end -}}
