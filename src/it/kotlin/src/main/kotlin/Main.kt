package app

import dev.verbena.verbs.Device
import dev.verbena.verbs.Verbena

/** Calls a verb of the first device. */
fun main() {
    Device.list().first().open().use { context ->
        context.allocateProtectionDomain().use { domain ->
            println("${Verbena.version()}: ${domain.context().device()}")
        }
    }
}
