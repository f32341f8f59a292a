package dev.verbena.messages;

import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairBuilder;

/** A device with a queue pair for a ring, which can be replaced. */
final class RingEnd {
  final Context context;
  final ProtectionDomain domain;
  CompletionQueue completions;
  QueuePair queuePair;

  RingEnd(Device device) {
    context = device.open();
    domain = context.allocateProtectionDomain();
    create(16);
  }

  void create(int requests) {
    completions = context.createCompletionQueue(64);
    queuePair = builder(QueuePairType.RC, requests).create();
  }

  QueuePairBuilder builder(QueuePairType type, int requests) {
    return QueuePair.builder(domain, type)
        .completions(completions)
        .capacity(QueuePairCapacity.of(requests));
  }
}
