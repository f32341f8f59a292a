package dev.verbena.internal.life;

import dev.verbena.internal.Provider;

/**
 * A device that is open, which all objects of its context belong to.
 *
 * @param provider calls C
 * @param address the address of the {@code struct ibv_device}
 * @param loss what its loss changes
 */
public record OpenDevice(Provider provider, long address, DeviceLoss loss) {}
