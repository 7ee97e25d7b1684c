{{/* A name as DNS-1035 has it, which those of Services must be: of a release rag.v1 or 1rag, too. */}}
{{- define "rag-monitor.dns" -}}
{{- $name := lower . | replace "." "-" | trimAll "-" -}}
{{- $name = regexMatch "^[0-9]" $name | ternary (printf "r-%s" $name) $name -}}
{{- $name | trunc 50 | trimAll "-" -}}
{{- end -}}

{{- define "rag-monitor.name" -}}
{{- default .Chart.Name .Values.nameOverride | include "rag-monitor.dns" -}}
{{- end -}}

{{- define "rag-monitor.fullname" -}}
{{- $name := include "rag-monitor.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- include "rag-monitor.dns" .Values.fullnameOverride -}}
{{- else if contains $name .Release.Name -}}
{{- include "rag-monitor.dns" .Release.Name -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | include "rag-monitor.dns" -}}
{{- end -}}
{{- end -}}

{{- define "rag-monitor.selector" -}}
app.kubernetes.io/name: {{ include "rag-monitor.name" . }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "rag-monitor.labels" -}}
{{ include "rag-monitor.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "rag-monitor.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "rag-monitor.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "rag-monitor.image" -}}
{{- /* Only the scorer's image has the library that logs in to MSK. */ -}}
{{- $logins := list (dig "kafka" "sasl_oauth" "" .root.Values.config) (dig "kafka_output" "sasl_oauth" "" .root.Values.config) -}}
{{- $msk := has "aws_msk_iam" $logins -}}
{{- $image := index .root.Values.image ($msk | ternary "scorer" .image) -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $image.repository $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $image.repository (.root.Values.image.tag | default .root.Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{/* The input topics as a JSON list: a name, `a,b` or a list, and those of ingest.sources. */}}
{{- define "rag-monitor.topics" -}}
{{- $config := .Values.config -}}
{{- $given := dig "kafka" "topics" "interactions" "" $config -}}
{{- $topics := list -}}
{{- if kindIs "slice" $given -}}
{{- $topics = $given -}}
{{- else if $given -}}
{{- range splitList "," $given }}{{ $topics = append $topics (trim .) }}{{ end -}}
{{- end -}}
{{- range dig "ingest" "sources" list $config }}{{ $topics = append $topics .topic }}{{ end -}}
{{- if not $topics }}{{ $topics = list "rag.interactions.v1" }}{{ end -}}
{{- $topics | uniq | toJson -}}
{{- end -}}

{{- define "rag-monitor.groupId" -}}
{{- dig "kafka" "group_id" "rag-monitor" .Values.config -}}
{{- end -}}

{{/* A setting's variable: judge.api_key → RAG_MONITOR_JUDGE__API_KEY */}}
{{- define "rag-monitor.variable" -}}
RAG_MONITOR_{{ . | upper | replace "." "__" }}
{{- end -}}

{{/* The settings of secrets.keys that a role needs, as a JSON object: setting → key. */}}
{{- define "rag-monitor.keys" -}}
{{- $unused := index (.root.Files.Get "files/settings.yaml" | fromYaml).unused .role -}}
{{- $found := dict -}}
{{- range $setting, $key := .root.Values.secrets.keys -}}
{{- $section := regexReplaceAll "^applications\\.[0-9]+\\." $setting "" | splitList "." | first -}}
{{- if not (has $section $unused) -}}
{{- $_ := set $found $setting $key -}}
{{- end -}}
{{- end -}}
{{- $found | toJson -}}
{{- end -}}

{{/* Whether config has a setting: 0 and false count, what is null or empty does not. */}}
{{- define "rag-monitor.given" -}}
{{- $node := .config -}}
{{- range splitList "." .path -}}
{{- $node = kindIs "map" $node | ternary (get (kindIs "map" $node | ternary $node dict) .) "" -}}
{{- end -}}
{{- if not (has (toJson $node) (list "null" "\"\"" "{}" "[]")) -}}true{{- end -}}
{{- end -}}

{{/* What extraEnv may not say: known secrets in clear, and what the chart takes from config. */}}
{{- define "rag-monitor.checkEnv" -}}
{{- $secrets := list -}}
{{- range .known.secrets }}{{ $secrets = append $secrets (include "rag-monitor.variable" .) }}{{ end -}}
{{- $ofEntries := "^RAG_MONITOR_APPLICATIONS__[0-9]+__JUDGE__(API_KEY|HEADERS|CACHE__URL)$" -}}
{{- $ofHeaders := "^RAG_MONITOR_.*JUDGE__HEADERS__" -}}
{{- $ofProviders := "(^|_)(API_?KEY|ACCESS_KEY|TOKEN|SECRET|PASSWORD)$|^AWS_BEARER_TOKEN_" -}}
{{- range $place, $entries := .places -}}
{{- range $entries -}}
{{- $name := get . "name" | toString | upper -}}
{{- if regexMatch "^RAG_MONITOR_(HTTP|AUDIT)__(HOST|PORT)$" $name -}}
{{- fail (printf "%s.extraEnv: found %s: probes and Services take it from config. Set it there" $place $name) -}}
{{- end -}}
{{- $ofPattern := or (regexMatch $ofEntries $name) (regexMatch $ofProviders $name) (and (regexMatch $ofHeaders $name) (not (hasSuffix "_FILE" $name))) -}}
{{- $refers := get . "value" | toString | regexMatch "\\$\\([-._a-zA-Z0-9]+\\)" -}}
{{- if and (get . "value") (not $refers) (or (has $name $secrets) $ofPattern) -}}
{{- fail (printf "%s.extraEnv: found %s with a value: a secret would stand in a Deployment. Use secrets.keys, or valueFrom" $place $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Helm deletes a value that is set to null. Most are empty then; without others nothing is safe. */}}
{{- define "rag-monitor.filled" -}}
{{- $values := .Values -}}
{{- range $path := tuple "image" "image.scorer" "image.exporter" "scorer" "scorer.updateStrategy" "exporter" "exporter.updateStrategy" "audit" "audit.updateStrategy" "pod" "networkPolicy" -}}
{{- $node := $values -}}
{{- range splitList "." $path }}{{ $node = get $node . }}{{ end -}}
{{- if not (kindIs "map" $node) -}}
{{- fail (printf "%s: found null, expected a mapping. Leave it out: then the chart's own values stand" $path) -}}
{{- end -}}
{{- end -}}
{{- range tuple "config" "secrets" "serviceAccount" "podMonitor" "prometheusRule" "dashboards" -}}
{{- if kindIs "invalid" (index $values .) }}{{ $_ := set $values . dict }}{{ end -}}
{{- end -}}
{{- range $section, $keys := dict "secrets" (list "keys") "scorer" (list "keda" "pdb") "exporter" (list "pdb") "audit" (list "persistence") "networkPolicy" (list "egress") -}}
{{- range $keys -}}
{{- if kindIs "invalid" (index $values $section .) }}{{ $_ := set (index $values $section) . dict }}{{ end -}}
{{- end -}}
{{- end -}}
{{- range tuple "extraEnv" "extraVolumes" "extraVolumeMounts" -}}
{{- if kindIs "invalid" (index $values.pod .) }}{{ $_ := set $values.pod . list }}{{ end -}}
{{- end -}}
{{- range tuple "kafka" "judge" "database" -}}
{{- if kindIs "invalid" (index $values.networkPolicy.egress .) }}{{ $_ := set $values.networkPolicy.egress . list }}{{ end -}}
{{- end -}}
{{- end -}}

{{/* Volumes and places to mount them: Kubernetes wants each once in a pod. */}}
{{- define "rag-monitor.checkVolumes" -}}
{{- $values := . -}}
{{- range $role := tuple "scorer" "exporter" "audit" -}}
{{- range $list, $key := dict "extraVolumes" "name" "extraVolumeMounts" "mountPath" -}}
{{- $seen := list "/etc/rag-monitor" "/tmp" "/run/secrets/rag-monitor" "/var/lib/rag-monitor" -}}
{{- range concat (get $values.pod $list) (get (index $values $role) $list | default list) -}}
{{- $found := get . $key | toString | trimSuffix "/" -}}
{{- if has $found $seen -}}
{{- fail (printf "%s.%s: found %s %s twice in one pod, counting those of pod.%s and of the chart itself. Use another" $role $list $key $found $list) -}}
{{- end -}}
{{- $seen = append $seen $found -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Updates that Kubernetes refuses, or that would have two processes write to one database. */}}
{{- define "rag-monitor.checkUpdates" -}}
{{- range $role, $own := dict "scorer" .scorer "exporter" .exporter "audit" .audit -}}
{{- $rolling := get $own.updateStrategy "rollingUpdate" | default dict -}}
{{- $none := and (get $rolling "maxSurge" | toString | regexMatch "^0+%?$") (get $rolling "maxUnavailable" | toString | regexMatch "^0+%?$") -}}
{{- if and $none (eq $own.updateStrategy.type "RollingUpdate") -}}
{{- fail (printf "%s.updateStrategy.rollingUpdate: maxSurge and maxUnavailable are both 0, so that no pod could ever be replaced. Let one of them be 1" $role) -}}
{{- end -}}
{{- end -}}
{{- if and .audit.enabled .audit.persistence.enabled (ne .audit.updateStrategy.type "Recreate") -}}
{{- fail (printf "audit.updateStrategy.type: found %s, expected Recreate: with SQLite on a volume the old pod must go before the new one can have it" .audit.updateStrategy.type) -}}
{{- end -}}
{{- end -}}

{{/* What cannot be right is an error here, and not a pod that does not start. */}}
{{- define "rag-monitor.check" -}}
{{- include "rag-monitor.filled" . -}}
{{- $values := .Values -}}
{{- $known := .Files.Get "files/settings.yaml" | fromYaml -}}
{{- range $known.secrets -}}
{{- if include "rag-monitor.given" (dict "config" $values.config "path" .) -}}
{{- fail (printf "config.%s: a secret would stand in a ConfigMap. Put it into a Secret, name that in secrets.existingSecret, and give its key: secrets.keys: {%s: KEY}" . .) -}}
{{- end -}}
{{- end -}}
{{- range $number, $entry := $values.config.applications -}}
{{- $judge := get $entry "judge" | default dict -}}
{{- range $key, $given := dict "api_key" (get $judge "api_key") "headers" (get $judge "headers") "cache.url" (dig "cache" "url" "" $judge) -}}
{{- if $given -}}
{{- fail (printf "config.applications.%d.judge.%s: a secret would stand in a ConfigMap. Give its key: secrets.keys: {applications.%d.judge.%s: KEY}" $number $key $number $key) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $part := list "http" "audit" -}}
{{- $host := dig $part "host" "" $values.config | toString | lower -}}
{{- if and (or (eq $part "http") $values.audit.enabled) (regexMatch "^(127\\..*|localhost|::1)$" $host) -}}
{{- fail (printf "config.%s.host: found %s, which only the pod itself reaches: probes would restart it for ever. Use 0.0.0.0, or :: for IPv6" $part $host) -}}
{{- end -}}
{{- if and (or (eq $part "http") $values.audit.enabled) (eq (dig $part "port" "" $values.config | toString) "0") -}}
{{- fail (printf "config.%s.port: found 0, which is any free port: probes and Services would not know it. Name one, from 1024 on" $part) -}}
{{- end -}}
{{- end -}}
{{- if not (include "rag-monitor.given" (dict "config" $values.config "path" "kafka.bootstrap_servers")) -}}
{{- fail "config.kafka.bootstrap_servers: missing. Name your brokers: HOST:PORT, with commas between them" -}}
{{- end -}}
{{- $places := dict -}}
{{- range $place := list "pod" "scorer" "exporter" "audit" -}}
{{- $_ := set $places $place (get (index $values $place) "extraEnv" | default list) -}}
{{- end -}}
{{- include "rag-monitor.checkEnv" (dict "known" $known "places" $places) -}}
{{- include "rag-monitor.checkVolumes" $values -}}
{{- include "rag-monitor.checkUpdates" $values -}}
{{- if and $values.secrets.keys (not $values.secrets.existingSecret) -}}
{{- fail "secrets.existingSecret: missing, and secrets.keys names keys of it" -}}
{{- end -}}
{{- with $values.scorer.keda -}}
{{- if and .enabled (gt (int .maxReplicas) (int .partitions)) -}}
{{- fail (printf "scorer.keda.maxReplicas: found %d, expected at most scorer.keda.partitions (%d): a replica without a partition has no work" (int .maxReplicas) (int .partitions)) -}}
{{- end -}}
{{- if and .enabled (gt (int .minReplicas) (int .maxReplicas)) -}}
{{- fail (printf "scorer.keda.minReplicas: found %d, expected at most scorer.keda.maxReplicas (%d)" (int .minReplicas) (int .maxReplicas)) -}}
{{- end -}}
{{- end -}}
{{- if $values.audit.enabled -}}
{{- if not (hasKey $values.secrets.keys "audit.password_file") -}}
{{- fail "secrets.keys: audit.password_file is missing, and audits need it: a key of the Secret that holds a line for each password" -}}
{{- end -}}
{{- $external := hasKey $values.secrets.keys "audit.database" -}}
{{- if and $values.audit.persistence.enabled $external -}}
{{- fail "audit.persistence.enabled: found true, and secrets.keys has audit.database: expected one of them" -}}
{{- end -}}
{{- if not (or $values.audit.persistence.enabled $external) -}}
{{- fail "audit.persistence.enabled: found false, and secrets.keys has no audit.database: audits need one of them" -}}
{{- end -}}
{{- end -}}
{{- if and $values.prometheusRule.enabled (not $values.prometheusRule.files) -}}
{{- range $path := $known.rules -}}
{{- if include "rag-monitor.given" (dict "config" $values.config "path" $path) -}}
{{- fail (printf "prometheusRule.files: missing, and the rules depend on config.%s, which is set. Render yours: rag-monitor rules render --config monitor.yaml --out rules, and give them by --set-file prometheusRule.files.rag-monitor=rules/rag-monitor.yml --set-file prometheusRule.files.rag-quality=rules/rag-quality.yml" $path) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
