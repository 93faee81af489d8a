// One piece of memory for host and device, a list in it whose links are pointers.
#include "sample.h"

struct Node {
  Node* next;
  int value;
};

__global__ void sum_list(const Node* list, int* total) {
  int sum = 0;
  for (const Node* at = list; at; at = at->next) sum += at->value;  // fault 1: memory/load-out-of-bounds
  *total = sum;
}

int main() {
  const int n = 20;
  Node* nodes;
  int *total, expected = 0;
  CHECK(hipMallocManaged(&nodes, n * sizeof(Node)));
  CHECK(hipMallocManaged(&total, sizeof(int)));
  for (int i = 0; i < n; i++) {
    const int next = (i * 7 + 3) % n;
    nodes[i].value = i * i - 5;
    nodes[i].next = next ? nodes + next : nullptr;
  }
#if FAULT == 1
  nodes[3].next = nodes + n;
#endif
  for (const Node* at = nodes; at && at < nodes + n; at = at->next) expected += at->value;
  sum_list<<<1, 1>>>(nodes, total);
  const bool right = hipDeviceSynchronize() == hipSuccess && *total == expected;
  (void)hipFree(nodes);
  (void)hipFree(total);
  return verdict(right);
}
