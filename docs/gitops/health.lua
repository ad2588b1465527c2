-- Health of Weir's kinds for Argo CD: the same verdict as kstatus.
-- In argocd-cm, for each kind: resource.customizations.health.weir.dev_StreamQuery: | <this file>
-- (also weir.dev_Stream, weir.dev_InputProfile, weir.dev_PlacementPolicy, weir.dev_NetworkTopology)
local health = {status = "Progressing", message = "not seen by the operator yet"}
local status = obj.status
if status == nil then return health end
local generation = obj.metadata.generation
if status.observedGeneration ~= nil and status.observedGeneration ~= generation then
  health.message = "the operator has not seen generation " .. tostring(generation) .. " yet"
  return health
end
local found = {}
for _, condition in ipairs(status.conditions or {}) do
  found[condition.type] = condition
end
if found.Stalled ~= nil and found.Stalled.status == "True" then
  return {status = "Degraded", message = found.Stalled.message}
end
if found.Reconciling ~= nil and found.Reconciling.status == "True" then
  return {status = "Progressing", message = found.Reconciling.message}
end
if found.Ready ~= nil then
  if found.Ready.status == "True" then
    if found.Ready.reason == "Suspended" then
      return {status = "Suspended", message = found.Ready.message}
    end
    return {status = "Healthy", message = found.Ready.message}
  end
  return {status = "Progressing", message = found.Ready.message}
end
return health
